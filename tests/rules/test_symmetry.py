"""The symmetries of a board form a group, and the tables agree with moving each cell."""

from itertools import product

import numpy as np
import pytest
from conftest import for_all

from graphstore.rules.symmetry import BoardSymmetry, board_permutations

SHAPES = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5), (6, 5)]
SHAPES += [(1, 16), (1, 17), (17, 1), (1, 31), (31, 1), (15, 2)]


def board(shape):
    return BoardSymmetry(rows=shape[0], columns=shape[1])


def random_positions(shape, count=400):
    """Return random packed positions, many of them symmetric."""
    rng = np.random.default_rng(sum(shape))
    symmetry = board(shape)
    x, o = rng.integers(0, 2**symmetry.cells, size=(2, count))
    for masks in (x, o):
        masks[::2] |= symmetry.images(masks[::2])[-1]  # the last one undoes itself
        masks[::5] = np.bitwise_or.reduce(symmetry.images(masks[::5]))
    edges = np.array([0, 2 ** (2 * symmetry.cells) - 1, 2**symmetry.cells - 1])
    return np.concatenate((edges, x << symmetry.cells | o & ~x))


def moved(mask, permutation):
    """Return a mask after every cell has gone where the permutation says, the slow way."""
    cells = len(permutation)
    held = (cell for cell in range(cells) if mask >> (cells - 1 - cell) & 1)
    return sum(1 << (cells - 1 - permutation[cell]) for cell in held)


@pytest.mark.parametrize(
    ("shape", "order"),
    [((1, 1), 1), ((1, 4), 2), ((4, 1), 2), ((2, 2), 8), ((2, 3), 4), ((3, 3), 8), ((5, 6), 4)],
)
def test_a_square_has_eight_symmetries_other_boards_four_lines_two(shape, order):
    assert board(shape).order == order
    assert len(set(board_permutations(rows=shape[0], columns=shape[1]))) == order


@for_all("shape", SHAPES)
def test_permutations_are_a_group_with_the_identity_first(shape):
    group = board_permutations(rows=shape[0], columns=shape[1])
    assert group[0] == tuple(range(shape[0] * shape[1]))
    for a, b in product(group, repeat=2):
        assert tuple(a[cell] for cell in b) in group


@for_all("shape", SHAPES)
def test_neighbours_stay_neighbours(shape):
    rows, columns = shape
    for permutation in board_permutations(rows=rows, columns=columns):
        for row, column in np.ndindex(rows, columns):
            here = divmod(permutation[row * columns + column], columns)
            for down, right in ((0, 1), (1, 0)):
                if row + down < rows and column + right < columns:
                    there = permutation[(row + down) * columns + column + right]
                    steps = np.abs(np.subtract(here, divmod(there, columns)))
                    assert steps.sum() == 1


@for_all("shape", SHAPES)
def test_images_agree_with_moving_cell_by_cell(shape):
    symmetry = board(shape)
    masks = random_positions(shape, count=30) >> symmetry.cells
    slow = [[moved(mask, p) for mask in masks.tolist()] for p in symmetry.permutations]
    assert symmetry.images(masks).tolist() == slow


@for_all("shape", SHAPES)
def test_canonical_is_the_smallest_image(shape):
    symmetry, positions = board(shape), random_positions(shape)
    images = symmetry.positions(positions)
    assert np.array_equal(images[0], positions)
    assert np.array_equal(symmetry.canonical(positions), images.min(axis=0))


@for_all("shape", SHAPES)
def test_canonical_is_idempotent_and_one_for_all_images(shape):
    symmetry, positions = board(shape), random_positions(shape)
    canonical = symmetry.canonical(positions)
    assert np.array_equal(symmetry.canonical(canonical), canonical)
    for image in symmetry.positions(positions):
        assert np.array_equal(symmetry.canonical(image), canonical)


@for_all("shape", SHAPES)
def test_an_orbit_is_the_number_of_different_images(shape):
    symmetry, positions = board(shape), random_positions(shape)
    images = symmetry.positions(positions).T.tolist()
    assert symmetry.orbits(positions).tolist() == [len(set(each)) for each in images]


@for_all("shape", SHAPES)
def test_splitting_is_undone_by_packing(shape):
    symmetry, positions = board(shape), random_positions(shape)
    first, second = symmetry.split(positions)
    assert np.array_equal(first << symmetry.cells | second, positions)
    assert (second < 2**symmetry.cells).all()


def test_burnside_counts_the_classes_of_all_boards_of_three_by_three():
    symmetry = board((3, 3))
    x, o = np.divmod(np.arange(2**18), 2**9)
    boards = (x << 9 | o)[x & o == 0]
    classes = np.unique(symmetry.canonical(boards))
    # Burnside's lemma: 3**9 boards, 3**(cycles of cells) of them fixed by each symmetry
    fixed = 3**9 + 3**5 + 2 * 3**3 + 4 * 3**6  # identity, half turn, quarter turns, reflections
    assert len(boards) == 3**9
    assert len(classes) == fixed // 8 == 2862
    assert symmetry.orbits(classes).sum() == 3**9


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 6)])
def test_an_empty_array_is_accepted(shape):
    none = np.empty(0, dtype=np.int64)
    symmetry = board(shape)
    assert symmetry.canonical(none).shape == symmetry.orbits(none).shape == (0,)
    assert symmetry.positions(none).shape == (symmetry.order, 0)


@pytest.mark.parametrize("shape", [(3, 3), (5, 6)])
def test_results_are_int64_and_arguments_do_not_change(shape):
    symmetry, positions = board(shape), random_positions(shape)
    before = positions.copy()
    for result in (symmetry.canonical(positions), symmetry.orbits(positions)):
        assert result.dtype == np.int64
    assert symmetry.positions(positions).dtype == np.int64
    assert np.array_equal(positions, before)
