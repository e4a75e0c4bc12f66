"use strict";
// Rows that somebody is at keep their places: they are brought up to date, and a button re-sorts them.
(() => {
	const { by, say } = window.octostore;
	const button = by("resort");

	// How many must move until all are in order: all but those of the longest run that is.
	const moves = (places) => {
		const ends = [];
		for (const place of places) {
			const n = ends.findIndex((end) => end > place);
			ends[n < 0 ? ends.length : n] = place;
		}
		return places.length - ends.length;
	};
	// The rows that come in the places of those present; says how many would come, go or move.
	const hold = (present, body) => {
		const coming = new Map([...body.rows].map((row) => [row.id, row])), order = present.map(({ id }) => id);
		const places = [...coming.keys()].map((id) => order.indexOf(id)).filter((n) => n >= 0);
		const gone = (row) => Object.assign(row.cloneNode(true), { className: "gone" });
		body.replaceChildren(...present.map((row) => coming.get(row.id) ?? gone(row)));
		return present.length + coming.size - 2 * places.length + moves(places);
	};

	addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => {
		const rows = by("rows"), body = tasks[0]?.fragment.querySelector("tbody");
		if (ctx.target !== rows) return;
		const isUsed = rows.querySelector("tbody:is(:hover, :focus-within)") || button.matches(":hover, :focus");
		const isHeld = isUsed && ctx.sourceEvent?.type.startsWith("live:");
		const updates = body && isHeld ? hold([...rows.querySelectorAll("tbody tr")], body) : 0;
		if (updates && !button.textContent) say("Rows keep their places while you are at them; a button re-sorts.");
		// With its text the button goes, and the focus with it.
		if (!updates && button.matches(":focus")) rows.querySelector("[role=region]")?.focus();
		button.textContent = updates ? `${updates} update${updates > 1 ? "s" : ""}, re-sort` : "";
	});
	button.addEventListener("click", () => htmx.trigger("#rows", "resort"));
})();
