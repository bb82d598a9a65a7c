// The field for a position takes several lines, as of a pasted board: Enter shows it, and Shift and
// Enter begin a new line. Without this script the button shows it.
"use strict";

document.getElementById("gs-typed")?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
