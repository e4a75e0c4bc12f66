"use strict";
// One stream a page, of hints alone: who listens for `live:<topic>` or `live:resync` gets the truth.
(() => {
	const { documentElement: root, body } = document;
	const { hear, say, fire, by } = window.octostore;
	const SILENT = 25000, GRACE = 10000, POLL = 5000, QUIET = 30000;
	const pill = by("live-pill"), banner = by("live-banner"), icon = by("icon");
	const clock = () => performance.now();
	let source, timer, lostAt, isPaused, tries = 0;
	let heard = clock(); // when the server last spoke
	let asked = heard; // when all was last got

	const show = (state) => {
		const before = root.dataset.live;
		if (before === state) return;
		const word = state[0].toUpperCase() + state.slice(1);
		const text = { polling: "No live updates: refreshing every 5 s.", stale: "Connection lost. Values may be out of date." }[state];
		banner.hidden = !text;
		// Spoken once for each state.
		if (text) banner.firstElementChild.textContent = text;
		else if (before && state !== "reconnecting") say(word);
		root.dataset.live = state;
		const { href, staleHref } = icon.dataset;
		if (href) icon.href = state === "stale" ? staleHref : href;
		pill.textContent = word;
		fire("live:state");
	};
	const resync = () => {
		asked = clock();
		fire("live:resync");
	};
	const close = () => {
		clearTimeout(timer);
		source?.close();
	};
	const again = (seconds) => {
		close();
		timer = setTimeout(open, seconds * (500 + Math.random() * 1000));
	};
	const lost = () => {
		lostAt ??= clock();
		again(Math.min(30, 0.5 * 2 ** tries++));
		judge();
	};
	const open = () => {
		close();
		if (document.hidden || isPaused) return show("paused");
		source = new EventSource(body.dataset.liveUrl);
		source.onerror = lost;
		source.onopen = () => {
			lostAt = null;
			tries = 0;
			resync();
		};
		source.addEventListener("hb", ({ data }) => {
			heard = clock();
			hear(+data);
			show("live");
		});
		source.addEventListener("changed", ({ data }) => fire(`live:${data.split(" ")[0]}`));
		source.addEventListener("bye", ({ data }) => (data.includes("revoked") ? location.reload() : again(2)));
	};
	const judge = () => {
		if (document.hidden || isPaused) return;
		const silent = clock() - heard > SILENT;
		if (silent || (lostAt && tries < 3 && clock() - lostAt > GRACE)) show("stale");
		else if (lostAt) show(tries > 2 ? "polling" : "reconnecting");
		if (silent && !lostAt) lost();
		if (clock() - asked > (lostAt ? POLL : QUIET)) resync();
	};

	// A fragment proves the server alive, even where no stream can be had.
	addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
		if (!ctx.sourceEvent?.type?.startsWith("live:") || ctx.response.status >= 400) return;
		if (lostAt && clock() - heard > SILENT) again(0);
		heard = clock();
	});
	const begin = () => {
		pill.addEventListener("click", () => {
			pill.ariaPressed = isPaused = !isPaused;
			open();
		});
		banner.lastElementChild.addEventListener("click", () => {
			resync();
			again(0);
		});
		document.addEventListener("visibilitychange", open);
		addEventListener("pagehide", close);
		addEventListener("pageshow", ({ persisted }) => persisted && open());
		addEventListener("offline", () => {
			heard = -SILENT;
			lost();
		});
		pill.hidden = false;
		setInterval(judge, 1000);
		open();
	};
	if (body.dataset.liveUrl) begin();
	else addEventListener("live:begin", begin, { once: true });
})();
