"""Drafts, locks and renames: a file appears complete or not at all, and never replaces another."""

import os
import re
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import graphstore
from graphstore.errors import StoreError, StoreExistsError
from graphstore.util import files


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_of_many_drafts_that_take_one_name_at_once_one_wins_and_is_not_replaced(tmp_path):
    for round_number in range(40):
        target, start = tmp_path / f"target{round_number}", threading.Barrier(4)
        won = []

        def take(number, target=target, start=start, won=won):
            draft = target.with_name(f"{target.name}.{number}")
            draft.write_text(str(number))
            start.wait()
            try:
                files.name_new(draft, target)
                won.append(number)
            except StoreExistsError:
                assert draft.read_text() == str(number)
            draft.unlink(missing_ok=True)

        threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [target.read_text()] == [str(number) for number in won]
    assert len(names(tmp_path)) == 40


@pytest.mark.parametrize("draft_is", ["file", "folder"])
@pytest.mark.parametrize("other_is", ["file", "folder", "full folder", "link to nowhere"])
def test_an_existing_file_or_folder_keeps_its_name(tmp_path, draft_is, other_is):
    draft, target = tmp_path / "draft", tmp_path / "target"
    draft.touch() if draft_is == "file" else draft.mkdir()
    if other_is == "file":
        target.write_text("mine")
    elif other_is == "link to nowhere":
        target.symlink_to("nowhere")
    else:
        target.mkdir()
        if other_is == "full folder":
            (target / "thesis.txt").touch()
    before = target.lstat()
    with pytest.raises(StoreExistsError, match="target exists; remove it"):
        files.name_new(draft, target)
    assert os.path.samestat(target.lstat(), before)
    assert names(tmp_path) == ["draft", "target"]


def test_an_error_while_a_new_file_is_written_leaves_nothing(tmp_path):
    def write():
        with files.new_file(str(tmp_path / "new")) as file:
            file.write("half")
            assert not (tmp_path / "new").exists()
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write()
    assert names(tmp_path) == []


def test_a_new_file_does_not_replace_one_that_appears_while_it_is_written(tmp_path):
    def write():
        with files.new_file(str(tmp_path / "new")) as file:
            file.write("ours")
            (tmp_path / "new").write_text("mine")

    with pytest.raises(StoreExistsError):
        write()
    assert (tmp_path / "new").read_text() == "mine"
    assert names(tmp_path) == ["new"]


def test_a_locked_draft_is_refused_to_others_and_is_removed_at_the_end(tmp_path):
    with files.locked_file(tmp_path / "draft", tmp_path / "target"):
        with (
            pytest.raises(StoreError, match="another build"),
            files.locked_file(tmp_path / "draft", tmp_path / "target"),
        ):
            pass
        assert names(tmp_path) == ["draft"]
    with files.locked_folder(tmp_path / "folder", "busy"):
        with (
            pytest.raises(StoreError, match="busy"),
            files.locked_folder(tmp_path / "folder", "busy"),
        ):
            pass
        assert names(tmp_path / "folder") == ["lock"]
    assert names(tmp_path) == []


def test_a_renamed_draft_is_not_removed_and_neither_is_the_next_one(tmp_path):
    draft, target = tmp_path / "draft", tmp_path / "target"
    with files.locked_file(draft, target):
        draft.write_text("one")
        files.name_new(draft, target)
    assert names(tmp_path) == ["target"]
    with files.locked_file(draft, target):
        draft.write_text("two")
        draft.replace(target)
        draft.write_text("the next build's")
    assert target.read_text() == "two"
    assert draft.read_text() == "the next build's"


def test_a_draft_that_a_killed_process_left_is_emptied_but_not_through_its_other_name(tmp_path):
    draft, target = tmp_path / "draft", tmp_path / "target"
    draft.write_text("half")
    with files.locked_file(draft, target):
        assert draft.read_text() == ""
    target.write_text("complete")
    os.link(target, draft)  # killed just before the draft lost its name
    with files.locked_file(draft, target):
        assert draft.read_text() == ""
    assert target.read_text() == "complete"
    assert names(tmp_path) == ["target"]


def test_a_link_is_not_a_draft_folder(tmp_path):
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "thesis.txt").touch()
    (tmp_path / "draft").symlink_to("documents")
    with pytest.raises(NotADirectoryError), files.locked_folder(tmp_path / "draft", "busy"):
        files.clear(tmp_path / "draft")
    assert names(tmp_path / "documents") == ["thesis.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_the_place_of_a_draft_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "draft")
    with pytest.raises(OSError), files.locked_file(tmp_path / "draft", tmp_path / "target"):  # noqa: PT011
        pass


def test_many_threads_can_create_and_remove_one_draft_folder(tmp_path):
    draft, inside, met = tmp_path / "draft", [], []

    def work():
        for _ in range(200):
            with suppress(StoreError), files.locked_folder(draft, "busy"):
                inside.append(1)
                met.append(len(inside))
                (draft / "file").write_text("x")
                files.clear(draft)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(met) == {1}
    assert names(tmp_path) == []


def test_no_module_imports_posix_only_modules():
    needs = re.compile(r"^\s*(import|from) (fcntl|grp|pwd|pty|termios|tty)\b", re.MULTILINE)
    package = Path(graphstore.__file__).parent
    assert [path for path in package.rglob("*.py") if needs.search(path.read_text("utf-8"))] == []
