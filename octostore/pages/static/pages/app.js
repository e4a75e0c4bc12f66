"use strict";
// On every page: the clock, countdowns, ages, copying, keys, faults.
window.octostore = (() => {
	const all = (selector, within = document) => [...within.querySelectorAll(selector)];
	const one = (selector) => document.querySelector(selector);
	const by = (id) => document.getElementById(id);
	const on = (name, listener) => addEventListener(name, listener);
	const write = (node, text) => node.textContent === text || (node.textContent = text);
	const say = (text) => write(by("announce"), text);
	const fire = (name) => document.body.dispatchEvent(new Event(name, { bubbles: true }));
	let offset = 0, told = 0, went = 0;

	const now = () => Date.now() + offset;
	const hear = (ms) => {
		offset = ms - Date.now();
		const s = Math.abs(offset / 1000);
		write(by("clock-note"), s > 2 ? `Your clock is ${Math.round(s)} s ${offset < 0 ? "fast" : "slow"}; times are corrected.` : "");
	};

	// In the words of `octostore.pages.wording`.
	const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
	const span = (seconds) => {
		const n = units.findIndex(([, size]) => seconds >= size);
		if (n < 0) return "0 s";
		const [[unit, size], next] = units.slice(n);
		const rest = next && Math.floor((seconds % size) / next[1]);
		return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${next[0]}` : ""}`;
	};
	const age = (s) => (s < -1 ? `in ${span(-s)}` : s < 2 ? "just now" : `${span(s < 60 ? s : s - (s % 60))} ago`);

	const tick = () => {
		const at = now();
		for (const node of all("[data-until]")) {
			const { until, whole } = node.dataset, left = Math.max(0, until - at);
			if (whole) node.setAttribute("stroke-dasharray", `${Math.min(1, left / whole)} 1`);
			else write(node, left ? span(Math.ceil(left / 1000)) : "expired, waiting for confirmation");
		}
		for (const node of all("[data-age]")) write(node, age((at - node.dataset.age) / 1000));
		for (const node of all("[data-look-at]")) {
			if (node.dataset.lookAt > at) continue;
			delete node.dataset.lookAt;
			fire("live:resync");
		}
	};
	const settle = () => {
		const newest = Math.max(0, ...all("[data-now]").map((node) => node.dataset.now));
		if (newest > told) hear((told = newest));
		for (const node of all("[data-local]")) write(node, new Date(+node.dataset.local).toLocaleString());
		tick();
	};

	on("click", async ({ target }) => {
		const button = target.closest("[data-copy]");
		if (!button) return;
		const source = one(button.dataset.copy);
		try {
			await navigator.clipboard.writeText(source.value ?? source.textContent);
			say("Copied");
			write(button, "Copied");
			setTimeout(write, 1800, button, "Copy");
		} catch {
			source.select ? source.select() : getSelection().selectAllChildren(source);
		}
	});

	on("keydown", (event) => {
		const { key, target, ctrlKey, metaKey, altKey } = event;
		if (ctrlKey || metaKey || altKey || one("[data-keys=off]") || target.closest("input, textarea, select, dialog")) return;
		const rows = all("[data-row]"), row = rows.indexOf(document.activeElement);
		const goes = Date.now() - went < 1000 && one(`[data-go="${CSS.escape(key)}"]`);
		went = key === "g" ? Date.now() : 0;
		const clicked = goes || { p: by("live-pill"), t: one("[name=theme][aria-pressed=true] + button") ?? one("[name=theme]"), "?": by("keys-link") }[key];
		const focused = { "/": one("[type=search]"), j: rows[row + 1], k: rows[row - 1] }[key];
		if (!clicked && !focused) return;
		event.preventDefault();
		clicked ? clicked.click() : focused.focus();
	});

	on("htmx:after:swap", settle);
	on("htmx:after:request", ({ detail: { ctx } }) => {
		if (ctx.response.status >= 400 || !ctx.target) return;
		delete ctx.target.dataset.failed;
		for (const node of all("[data-read]", ctx.target)) node.dataset.age = now();
	});
	const failed = ({ detail: { ctx } }) => {
		const status = ctx.response?.status;
		if (ctx.sourceEvent?.type?.startsWith("live:")) ctx.target.dataset.failed = "";
		else if (status === 401) location.reload();
		else if (status !== 409 && status !== 422) {
			const textContent = status ? `That did not work: ${status}, ${ctx.response.headers.get("X-Request-Id")}` : "No answer came: look whether it happened.";
			const note = Object.assign(document.createElement("p"), { className: "notice error", textContent });
			by("toasts").append(note);
			setTimeout(() => note.remove(), 15000);
		}
	};
	on("htmx:response:error", failed);
	on("htmx:error", failed);
	// Not kept by the back/forward cache.
	on("pagehide", () => all("[data-once]").forEach((node) => (node.value = node.textContent = "")));

	settle();
	setInterval(tick, 1000);
	return { by, now, hear, say, fire };
})();
