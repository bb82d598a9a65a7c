// The SQL editor: it completes the names of tables and columns, runs, formats and copies.
// Without this script the statement is in a plain text field.
"use strict";

const field = document.getElementById("sql-editor");
const terms = [...document.querySelectorAll("#gs-schema dt")].map((term) => ({
  table: term.dataset.table,
  names: term.nextElementSibling.textContent.split(", "),
}));
const tables = terms.map((term) => term.table).filter(Boolean);
const all = [...new Set([...tables, ...terms.flatMap((term) => term.names)])].sort();

// Return the names that begin as the word does; after "table." its columns only.
function matches(table, word) {
  const of = terms.find((term) => term.table && term.table === table);
  return (of ? of.names : all).filter((name) => name.startsWith(word) && name !== word);
}

function start() {
  const editor = CodeMirror.fromTextArea(field, {
    lineNumbers: true, lineWrapping: true, mode: "text/x-sqlite", viewportMargin: Infinity,
  });
  const list = document.createElement("ul");
  list.className = "gs-complete";
  list.setAttribute("aria-live", "polite");
  let found = [], chosen = 0, from, to;

  const step = (by) => () => { chosen = (chosen + by + found.length) % found.length; show(); };
  const take = (at = chosen) => {
    editor.replaceRange(found[at], from, to);
    close();
  };
  const close = () => { found = []; list.remove(); editor.removeKeyMap(keys); };
  const keys = { Up: step(-1), Down: step(1), Enter: () => take(), Tab: () => take(), Esc: close };
  const show = () => {
    list.replaceChildren(...found.map((name, at) => {
      const item = document.createElement("li");
      item.textContent = name;
      item.className = at === chosen ? "gs-chosen" : "";
      item.onmousedown = (event) => { event.preventDefault(); take(at); };
      return item;
    }));
    const at = editor.charCoords(from, "page");
    list.style.left = `${at.left}px`;
    list.style.top = `${at.bottom}px`;
    document.querySelector("main").append(list); // inside the editor it would be cut off
  };
  const complete = (least) => {
    close();
    to = editor.getCursor();
    const [, table, word] = /(?:(\w+)\.)?(\w*)$/.exec(editor.getLine(to.line).slice(0, to.ch));
    if (!table && word.length < least) return;
    from = { line: to.line, ch: to.ch - word.length };
    [found, chosen] = [matches(table, word).slice(0, 8), 0];
    if (!found.length) return;
    editor.addKeyMap(keys);
    show();
  };
  editor.setOption("extraKeys", {
    "Ctrl-Space": () => complete(0), "Shift-Enter": () => field.form.requestSubmit(),
    Tab: false, "Shift-Tab": false, // they leave the editor
  });
  editor.on("inputRead", () => complete(2));
  editor.on("blur", close);
  editor.on("cursorActivity", () => {
    const at = editor.getCursor();
    if (found.length && (at.line !== to.line || at.ch < from.ch || at.ch > to.ch)) close();
  });
  const input = editor.getInputField();
  input.setAttribute("aria-label", "SQL");
  input.setAttribute("aria-describedby", "gs-keys");
  document.getElementById("gs-keys").hidden = false;
  const format = document.getElementById("sql-format");
  format.hidden = false;
  format.addEventListener("click", () => editor.setValue(sqlFormatter.format(editor.getValue())));
}

if (field && window.CodeMirror) start();

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    getSelection().selectAllChildren(text);
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch { // not a secure context: over http from another machine
      document.execCommand("copy");
    }
    button.textContent = "Copied";
  });
}
