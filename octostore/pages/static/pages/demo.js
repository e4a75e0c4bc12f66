"use strict";
// Two candidates in this very page, by the API that everybody has.
(() => {
	const { by, fire } = window.octostore;
	const say = (id, text) => (by(id).textContent = text);
	const pause = (ms) => new Promise((done) => setTimeout(done, ms));
	const start = by("demo-start"), stall = by("demo-stall");
	let room, stalled;

	const ask = (path, body) => fetch(`/elections${path}`, {
		method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
	}).then((answer) => answer.json()).catch(() => ({}));
	const run = async (candidate_id) => {
		for (;;) {
			let answer = await ask(`/${room}/campaign`, { candidate_id, ttl_seconds: 5 });
			say(candidate_id, answer.leader ? `follows ${answer.leader.candidate_id}` : answer.error ?? "no answer");
			while (answer.leader_token) {
				say(candidate_id, `leads term ${answer.leader.term}`);
				stall.value = candidate_id;
				stall.disabled = false;
				await pause(answer.renew_after_ms);
				if (stalled === candidate_id) {
					say(candidate_id, "stalled: renews no more");
					await pause(10000);
					stalled = null;
					break;
				}
				answer = await ask(`/${room}/renew`, { leader_token: answer.leader_token });
			}
			await pause(Math.min(answer.retry_after_ms ?? 1000, 1000));
		}
	};
	start.addEventListener("click", async () => {
		const { election_id, error } = await ask("", {});
		if (!election_id) return say("worker-a", error ?? "no answer");
		start.disabled = true;
		room = election_id;
		by("demo-link").href = `/r/${room}`;
		by("demo-link").hidden = false;
		document.body.dataset.liveUrl = `/live?topics=room:${room}`;
		await htmx.ajax("GET", `/r/${room}/state`, { target: "#demo-room", swap: "innerHTML" });
		fire("live:begin");
		run("worker-a");
		run("worker-b");
	});
	stall.addEventListener("click", () => {
		stalled = stall.value;
		stall.disabled = true;
	});
	start.hidden = stall.hidden = false;
})();
