// Additions to the page of a position: moves without loading the page again, keys, and copying.
// Without this script everything else still works, because moves are links.
"use strict";

(() => {
  const { explorer } = document.querySelector("[data-explorer]").dataset;
  const find = (selector) => document.querySelector(selector);
  const byId = (id) => document.getElementById(id) ?? document.createElement("p");
  const hrefOf = (link) => (link.href instanceof SVGAnimatedString ? link.href.baseVal : link.href);
  const absolute = (href) => new URL(href, location.href);
  const shownAs = () => location.pathname + location.search;
  const LONGEST_WAIT = 10_000; // milliseconds, after which the browser loads a page by itself
  let busy = false; // true until the page of a move is shown, so that the first of fast clicks counts
  let loads = 0;
  let here = shownAs();

  const ours = (url) =>
    url.origin === location.origin && url.pathname.startsWith(explorer) && !url.hash;

  // Show the page of an address in place of this one. `remember` adds it to the history.
  async function load(url, remember, focus = null) {
    if (busy) return;
    busy = true;
    loads += 1;
    const mine = loads;
    forget();
    asking.abort();
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(LONGEST_WAIT) });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== loads) return; // the Back button was quicker
      if (!page.querySelector("main > .gs-columns, main > .gs-narrow")) throw new Error("another page");
      remember?.(answer.url);
      here = shownAs();
      document.title = page.title;
      for (const part of ["header", "main", "footer"]) find(part).replaceWith(page.querySelector(part));
      begin();
      const kept = focus && find(`[data-key="${CSS.escape(focus)}"][href]`);
      (kept || find("#announcement, #gs-typed"))?.focus({ preventScroll: true });
      busy = false;
    } catch {
      if (mine === loads) location.assign(url);
    }
  }
  // What a search has not found yet is asked for again, and shown in its place when it is found.
  let asking = new AbortController();
  const SEARCHED = [".gs-large", "#announcement", "#gs-more", "[aria-label=game]", ".gs-right"];
  const PAUSE = 300; // milliseconds between two searches
  async function ask() {
    const link = find("#gs-more [data-auto]");
    if (!link) return;
    asking = new AbortController();
    const { signal } = asking;
    link.textContent = "Searching…";
    try {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      const answer = signal.aborted ? null : await fetch(link.href, { signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (signal.aborted) return;
      const focused = document.activeElement.getAttribute("href");
      for (const falling of page.querySelectorAll(".gs-fall")) falling.classList.remove("gs-fall");
      for (const part of SEARCHED) {
        const [old, found] = [find(part), page.querySelector(part)];
        if (old.innerHTML !== found.innerHTML) old.innerHTML = found.innerHTML;
        old.className = found.className;
      }
      if (focused) find(`main [href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
      begin();
    } catch {
      // The user has gone to another page, or the server has stopped: the link is still there.
    }
  }
  const push = (href) => (href === location.href ? null : history.pushState(null, "", href));
  const replace = (href) => history.replaceState(null, "", href);

  function go(link) {
    const href = hrefOf(link);
    if (!href || link.ariaDisabled === "true" || busy) return;
    const replaces = link.hasAttribute("data-replace");
    // Choosing a piece is not a step of the history: before a move comes the whole move before it.
    const unchosen = find("#gs-unchosen");
    if (!replaces && unchosen) replace(unchosen.href);
    load(absolute(href), replaces ? replace : push, link.dataset.key);
  }

  window.addEventListener("popstate", () => {
    if (shownAs() === here) return; // only the part after # has changed
    busy = false;
    load(new URL(location.href), null);
  });
  document.addEventListener("click", (event) => {
    const held = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    const button = event.target.closest?.("[data-copy], [data-picture]");
    if (button) return void copy(button);
    if (event.target.closest?.("#gs-keys-button")) return showKeys();
    const link = event.target.closest?.("a[href]");
    if (!link || held || event.button !== 0 || link.hasAttribute("data-plain") || !ours(absolute(hrefOf(link)))) return;
    event.preventDefault();
    const move = link.dataset.cell ?? link.dataset.move;
    if (move !== undefined && event.detail > 1) return; // the second click of a double click
    go(link);
  });
  document.addEventListener("submit", (event) => {
    const url = absolute(event.target.action);
    if (!ours(url)) return;
    event.preventDefault();
    url.search = new URLSearchParams(new FormData(event.target));
    load(url, push);
  });

  // Some opponents play one side only.
  function seat() {
    const against = find("select[name=against]");
    const left = against?.selectedOptions[0].dataset.left;
    if (left) against.form.elements.as.value = left;
  }
  document.addEventListener("change", (event) => {
    if (event.target.name === "against") seat();
  });

  // Copying; where the browser does not allow it, a picture is opened instead.
  const clipboard = navigator.clipboard && window.ClipboardItem ? navigator.clipboard : null;
  async function png(address) {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }
  async function copy(button) {
    const { svg } = find("[data-explorer]").dataset;
    const { picture } = button.dataset;
    try {
      if (picture === "png") {
        await clipboard.write([new ClipboardItem({ "image/png": png(svg) })]);
      } else if (picture) {
        await clipboard.writeText(await (await fetch(svg)).text());
      } else {
        await clipboard.writeText(button.dataset.copy || location.href);
      }
      say("copied");
    } catch {
      say("the browser does not allow copying");
    }
  }

  // Arrow keys move from cell to cell.
  const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let last = null; // the cell that had the focus last
  const middle = (link) => {
    const box = link.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  function walk(key) {
    const links = [...document.querySelectorAll(".gs-large a[data-cell]")];
    if (links.length === 0) return false;
    const from = document.activeElement.closest?.("a[data-cell]");
    if (!from) {
      links.sort((a, b) => a.dataset.cell - b.dataset.cell);
      const [x, y] = last ?? middle(links[0]);
      const far = (link) => Math.hypot(middle(link)[0] - x, middle(link)[1] - y);
      links.sort((a, b) => far(a) - far(b))[0].focus();
      return true;
    }
    const [dx, dy] = DIRECTIONS[key];
    const [x, y] = middle(from);
    let [best, least] = [null, Infinity];
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
    if (event.type === "focusin" && over?.dataset.cell) last = middle(over);
  }
  document.addEventListener("mouseover", light);
  document.addEventListener("focusin", light);

  // Moves are typed by their names; each tool has one key.
  let typed = "";
  let timer = 0;
  const WAIT = 800; // milliseconds for the next character of a name
  const begun = (name) =>
    [...document.querySelectorAll("a[data-move]")]
      .filter((link) => link.dataset.move.toLowerCase().startsWith(name));
  const say = (words) => {
    byId("gs-typed-move").textContent = words;
  };
  function forget() {
    clearTimeout(timer);
    typed = "";
    say("");
  }
  function type(character) {
    clearTimeout(timer);
    typed += character.toLowerCase();
    const found = begun(typed);
    const exact = found.find((link) => link.dataset.move.toLowerCase() === typed);
    if (exact && found.length === 1) {
      go(exact);
    } else if (found.length === 0) {
      say(`${typed} is not a move here`);
      typed = "";
    } else {
      say(`move ${typed}…`);
      timer = setTimeout(() => {
        forget();
        if (exact) go(exact);
      }, WAIT);
    }
  }
  const NO_TOOL = {
    f: "this board does not change when flipped",
    r: "this board does not change when turned",
    u: "there is nothing to undo",
    ",": "this is the first position",
    ".": "there is no next move to show",
  };
  function showKeys() {
    const keys = byId("gs-keys");
    keys.hidden = !keys.hidden;
    byId("gs-keys-button").setAttribute("aria-expanded", String(!keys.hidden));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    const { key } = event;
    if (key in DIRECTIONS) {
      if (walk(key)) event.preventDefault();
      return;
    }
    if (key.length !== 1 || key === " " || event.repeat || busy) return;
    if (typed === "") {
      if (key === "?") return showKeys();
      const tool = find(`[data-key="${CSS.escape(key)}"]`);
      if (tool) return go(tool);
      if (key in NO_TOOL && begun(key).length === 0) return say(NO_TOOL[key]);
    }
    if (/[\p{L}\p{N},.:;+()-]/u.test(key)) type(key);
  });

  // What every page needs when it is shown.
  function begin() {
    for (const each of document.querySelectorAll("#gs-keys-button, [data-copy], [data-picture]")) {
      each.hidden = !clipboard && each.id !== "gs-keys-button";
    }
    seat();
    ask();
  }
  begin();
})();
