"use strict";
// What asks whether to do something opens over the page, and shows there why its form was refused.
(() => {
	const { by } = window.octostore;
	const dialog = by("dialog"), toasts = by("toasts");

	addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
		if (ctx.target !== dialog) return;
		// Whatever is outside of an open dialog nobody sees or hears.
		dialog.append(toasts);
		if (dialog.open) return dialog.matches(":focus-within") || by("dialog-title").focus();
		// Who asked gets the focus back.
		ctx.sourceElement.focus();
		dialog.showModal();
	});
	dialog.addEventListener("click", (event) => {
		if (!event.target.closest("[data-close]")) return;
		event.preventDefault();
		dialog.close();
	});
	dialog.addEventListener("close", () => document.body.append(toasts));
})();
