// Additions to the page of a position: keys, undo, and the focus after a move. Without this script
// everything else still works, because moves are links.
"use strict";

(() => {
  const explorer = document.querySelector("[data-explorer]").dataset.explorer;
  const announcement = document.getElementById("announcement");
  const typedShown = document.getElementById("gs-typed-move");
  const undoButton = document.getElementById("gs-undo");
  const keys = document.getElementById("gs-keys");
  const keysButton = document.getElementById("gs-keys-button");
  const NEXT = "graphstore-next"; // data for the history entry that a link creates

  // Undo is the back button, but only to pages of this explorer. Each entry of the history stores how
  // many of them are before it. Back, forward and reload keep history.state. A new entry has none:
  // it takes what the link has left in sessionStorage.
  const remembered = () => {
    try {
      const next = JSON.parse(sessionStorage.getItem(NEXT));
      sessionStorage.removeItem(NEXT);
      return next;
    } catch {
      return null;
    }
  };
  const remember = (next) => {
    try {
      sessionStorage.setItem(NEXT, JSON.stringify(next));
    } catch {
      // No storage, no undo: the back button is still there.
    }
  };
  // Undo does not change whether values are hidden: earlier pages follow the latest choice.
  const HIDING = "graphstore-hiding";
  const hideLink = document.querySelector('[data-key="h"]');
  function hiding(choice) {
    try {
      if (choice === null) sessionStorage.removeItem(HIDING);
      else sessionStorage.setItem(HIDING, choice);
    } catch {
      // No storage: each page is shown as its address says.
    }
  }
  function hideAgain() {
    let choice = null;
    try {
      choice = sessionStorage.getItem(HIDING);
    } catch {
      return;
    }
    if (choice === null || choice === hideLink.dataset.hidden) return;
    remember({ depth, focus: null });
    location.replace(hideLink.href);
  }
  // Choosing a piece is not a step of the history: before a move comes the whole move before it.
  const unchosen = document.getElementById("gs-unchosen");
  function unchoose() {
    if (unchosen) history.replaceState(history.state, "", unchosen.href);
  }
  const ours = (href) => {
    try {
      const url = new URL(href, location.href);
      return url.origin === location.origin && url.pathname.startsWith(explorer);
    } catch {
      return false;
    }
  };
  const hrefOf = (link) => (link.href instanceof SVGAnimatedString ? link.href.baseVal : link.href);
  const next = remembered();
  let depth = history.state?.graphstoreDepth;
  if (depth === undefined) {
    depth = next !== null && ours(document.referrer) ? next.depth : 0;
    history.replaceState({ graphstoreDepth: depth }, "");
    if (next === null) hiding(null);
    else if (next.focus) focusAfter(next.focus);
  } else {
    hideAgain();
  }
  undoButton.hidden = false;
  undoButton.disabled = depth === 0;

  function focusAfter(what) {
    const key = what.key && document.querySelector(`[data-key="${what.key}"]`);
    (key || announcement).focus({ preventScroll: true });
  }
  function undo() {
    if (depth > 0) history.back();
  }
  function go(link) {
    const replaces = link.hasAttribute("data-replace");
    remember({
      depth: replaces ? depth : depth + 1,
      focus: { key: replaces ? link.dataset.key : null },
    });
    if (link === hideLink) hiding(link.dataset.hidden === "1" ? "0" : "1");
    if (replaces) return location.replace(hrefOf(link));
    unchoose();
    return location.assign(hrefOf(link));
  }
  undoButton.addEventListener("click", undo);
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return; // the page is as it was left: a link followed, a move typed
    remembered();
    forget();
    if (unchosen) go(unchosen);
    else hideAgain();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain =
      event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented || !ours(hrefOf(link))) return;
    if (link.hasAttribute("data-replace")) {
      event.preventDefault();
      go(link);
    } else {
      remember({ depth: depth + 1, focus: { key: null } });
      unchoose();
    }
  });
  // Some opponents play one side only.
  const against = document.querySelector("[name=against]:is(select)");
  function seat() {
    const left = against.selectedOptions[0].dataset.left;
    if (left) against.form.elements.as.value = left;
  }
  against.addEventListener("change", seat);
  seat();

  document.addEventListener("submit", (event) => {
    if (event.target.elements.hide?.type === "checkbox") hiding(null); // chosen again for this game
    remember({ depth: depth + 1, focus: { key: null } });
    unchoose();
  });

  // Arrow keys move from cell to cell.
  const cells = () => [...document.querySelectorAll(".gs-large a[data-cell]")];
  const middle = (link) => {
    const box = link.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const DIRECTIONS = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  function walk(key) {
    const links = cells();
    if (links.length === 0) return false;
    const here = document.activeElement.closest?.("a[data-cell]");
    if (!here) {
      links.sort((a, b) => a.dataset.cell - b.dataset.cell)[0].focus();
      return true;
    }
    const [dx, dy] = DIRECTIONS[key];
    const [x, y] = middle(here);
    let best = null;
    let least = Infinity;
    for (const link of links) {
      const [to_x, to_y] = middle(link);
      const along = (to_x - x) * dx + (to_y - y) * dy;
      const across = Math.abs((to_x - x) * dy) + Math.abs((to_y - y) * dx);
      const far = along + 3 * across;
      if (along > 1 && far < least) [best, least] = [link, far];
    }
    best?.focus();
    return true;
  }

  // A row of the list and its cell light up together.
  function light(event) {
    const over = event.target.closest?.("tr[data-at], .gs-large a[data-cell]");
    const at = over && (over.dataset.at ?? over.dataset.cell);
    for (const each of document.querySelectorAll("tr[data-at], .gs-large a[data-cell]")) {
      each.classList.toggle("gs-lit", over !== null && (each.dataset.at ?? each.dataset.cell) === at);
    }
  }
  document.addEventListener("mouseover", light);
  document.addEventListener("focusin", light);

  // Moves are typed by their names; each tool has one key.
  let typed = "";
  let timer = 0;
  const WAIT = 800; // milliseconds for the next character of a name
  const moves = () => [...document.querySelectorAll("a[data-move]")];
  function forget() {
    clearTimeout(timer);
    typed = "";
    typedShown.textContent = "";
  }
  function type(character) {
    clearTimeout(timer);
    typed += character.toLowerCase();
    const begun = moves().filter((link) => link.dataset.move.toLowerCase().startsWith(typed));
    const exact = begun.find((link) => link.dataset.move.toLowerCase() === typed);
    if (exact && begun.length === 1) return go(exact);
    if (begun.length === 0) {
      const refused = typed;
      typed = "";
      typedShown.textContent = `${refused} is not a move here`;
      return undefined;
    }
    typedShown.textContent = `move ${typed}…`;
    timer = setTimeout(() => {
      forget();
      if (exact) go(exact);
    }, WAIT);
    return undefined;
  }
  function showKeys() {
    keys.hidden = !keys.hidden;
    keysButton.setAttribute("aria-expanded", String(!keys.hidden));
  }
  keysButton.hidden = false;
  keysButton.addEventListener("click", showKeys);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    const { key } = event;
    const onBoard = document.activeElement.closest?.(".gs-large, #announcement");
    if (key in DIRECTIONS) {
      const nowhere = document.activeElement === document.body;
      if ((onBoard || nowhere) && walk(key)) event.preventDefault();
      return;
    }
    if (key.length !== 1 || key === " ") return;
    if (typed === "") {
      if (key === "u") return undo();
      if (key === "?") return showKeys();
      const tool = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (tool) return go(tool);
      const names = moves().map((link) => link.dataset.move.toLowerCase());
      if ((key === "f" || key === "r") && !names.some((name) => name.startsWith(key))) {
        typedShown.textContent = "this board does not change when flipped or turned";
        return undefined;
      }
    }
    if (/[\p{L}\p{N},.:;+()-]/u.test(key)) type(key);
  });
})();
