"use strict";
// On every page: the server's clock, countdowns and ages, copying, keys, dialogs, what went wrong.
window.octostore = (() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const by = (id) => document.getElementById(id);
  const write = (node, text) => node.textContent === text || (node.textContent = text);
  const say = (text) => write(by("announce"), text);
  let offset = 0, told = 0, went = 0;

  const now = () => Date.now() + offset;
  const hear = (ms) => {
    offset = ms - Date.now();
    const fast = Math.round(-offset / 1000);
    write(by("clock-note"), Math.abs(fast) > 2 ? `Your clock is ${Math.abs(fast)} s ${fast > 0 ? "fast" : "slow"}; times are corrected.` : "");
  };

  // In the words of `octostore.pages.wording`.
  const span = (seconds) => {
    const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    const first = Math.max(0, parts.findIndex(([, size]) => seconds >= size));
    const [[unit, size], next] = seconds < 1 ? [["s", 1]] : parts.slice(first);
    const rest = next && Math.floor((seconds % size) / next[1]);
    return `${Math.max(0, Math.floor(seconds / size))} ${unit}${rest ? ` ${rest} ${next[0]}` : ""}`;
  };
  const age = (seconds) => seconds < -1 ? `in ${span(-seconds)}` : seconds < 2 ? "just now" : `${span(seconds < 60 ? seconds : seconds - (seconds % 60))} ago`;

  const tick = () => {
    const at = now();
    for (const node of all("[data-until]")) {
      const left = node.dataset.until - at;
      if (node.dataset.whole) {
        const length = 2 * Math.PI * node.r.baseVal.value;
        node.setAttribute("stroke-dasharray", `${length * Math.max(0, Math.min(1, left / node.dataset.whole))} ${length}`);
      } else write(node, left > 0 ? span(Math.ceil(left / 1000)) : "expired, waiting for confirmation");
    }
    for (const node of all("[data-age]")) write(node, age((at - node.dataset.age) / 1000));
    for (const node of all("[data-look-at]").filter((one) => one.dataset.lookAt <= at)) {
      delete node.dataset.lookAt;
      document.body.dispatchEvent(new Event("live:resync"));
    }
  };
  const settle = () => {
    const newest = Math.max(0, ...all("[data-now]").map((node) => node.dataset.now));
    if (newest > told) hear((told = newest));
    for (const node of all("[data-local]")) write(node, new Date(+node.dataset.local).toLocaleString());
    tick();
  };

  document.addEventListener("click", async ({ target }) => {
    if (target.closest("[data-close]")) by("dialog").close();
    const button = target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      say("Copied to the clipboard");
      write(button, "Copied");
    } catch {
      getSelection().selectAllChildren(source);
      write(button, "Press Ctrl+C");
    }
    setTimeout(write, 1800, button, "Copy");
  });

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (root.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, textarea, select, dialog")) return;
    const rows = all("[data-row]");
    const row = rows.indexOf(document.activeElement);
    const goes = Date.now() - went < 1000 && document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    went = key === "g" ? Date.now() : 0;
    const clicked = goes || { p: by("live-pill"), t: document.querySelector("[name=theme]:not([aria-pressed=true])"), "?": by("keys-link") }[key];
    const focused = { "/": document.querySelector("[type=search]"), j: rows[row + 1], k: rows[row - 1] }[key];
    if (!clicked && !focused) return;
    event.preventDefault();
    clicked ? clicked.click() : focused.focus();
  });

  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    settle();
    if (ctx.target?.id === "dialog" && !ctx.target.open) ctx.target.showModal();
  });
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (ctx.response.status >= 400 || !ctx.target) return;
    delete ctx.target.dataset.failed;
    for (const node of all("[data-read]", ctx.target)) node.dataset.age = now();
  });
  const failed = ({ detail: { ctx } }) => {
    const status = ctx.response?.status;
    if (ctx.sourceEvent?.type.startsWith("live:")) ctx.target.dataset.failed = "";
    else if (status === 401) location.assign(`/accounts/login/?next=${encodeURIComponent(location.pathname + location.search)}`);
    else if (status !== 422) {
      const note = document.createElement("p");
      note.className = "notice error";
      write(note, status ? `That did not work (${status}). Try again, or name ${ctx.response.headers.get("X-Request-Id")} when you ask for help.`
        : "No answer came. It may have happened or not: look before you try again.");
      by("toasts").append(note);
      setTimeout(() => note.remove(), 15000);
    }
  };
  document.addEventListener("htmx:response:error", failed);
  document.addEventListener("htmx:error", failed);
  // What was shown once is not kept by the back/forward cache.
  addEventListener("pagehide", () => all("[data-once]").forEach((node) => (node.value = node.textContent = "")));

  settle();
  setInterval(tick, 1000);
  return { now, hear, say, span };
})();
