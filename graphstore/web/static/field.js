// The field for a position takes several lines, for a pasted board: Enter submits it, and
// Shift+Enter starts a new line. Without this script the button submits it.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "gs-typed") return;
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
