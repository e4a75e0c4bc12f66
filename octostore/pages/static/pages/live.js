"use strict";
// One stream a page, of hints alone: whoever listens for `live:<topic>` or `live:resync` gets the truth again.
(() => {
  const url = document.body.dataset.liveUrl;
  if (!url) return;
  const SILENT = 25000, GRACE = 10000, POLL = 5000, QUIET = 30000;
  const root = document.documentElement;
  const pill = document.getElementById("live-pill");
  const banner = document.getElementById("live-banner");
  const words = { live: "Live", reconnecting: "Reconnecting", polling: "Refreshing", paused: "Paused", stale: "Not live" };
  const fire = (name) => document.body.dispatchEvent(new Event(name));
  const clock = () => performance.now();
  let source, timer, lostAt, isPaused = false, tries = 0, failures = [];
  let heard = clock(); // when the server last spoke
  let asked = clock(); // when all was last got again

  const show = (state) => {
    if (root.dataset.live === state) return;
    banner.hidden = state !== "stale" && state !== "polling";
    // Spoken once for each state, by the banner or by the region for announcements.
    if (state === "polling") banner.firstElementChild.textContent = "Live updates are unavailable: refreshing every 5 s.";
    else if (state === "stale") banner.firstElementChild.textContent = "Connection lost. Values may be out of date.";
    else if (root.dataset.live && state !== "reconnecting") window.octostore.say(words[state]);
    root.dataset.live = state;
    pill.textContent = words[state];
    fire("live:state");
  };
  const resync = () => {
    asked = clock();
    fire("live:resync");
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const again = (seconds) => {
    close();
    timer = setTimeout(open, seconds * 1000 * (0.5 + Math.random()));
  };
  const lost = () => {
    lostAt ??= clock();
    failures = [...failures.filter((at) => clock() - at < 60000), clock()];
    again(Math.min(30, 0.5 * 2 ** tries++));
    judge();
  };
  const open = () => {
    close();
    if (document.hidden || isPaused) return show("paused");
    source = new EventSource(url);
    source.onerror = lost;
    source.onopen = () => {
      lostAt = null;
      tries = 0;
      failures = [];
      resync();
    };
    source.addEventListener("hb", ({ data }) => {
      heard = clock();
      window.octostore.hear(+data);
      show("live");
    });
    source.addEventListener("changed", ({ data }) => fire(`live:${data.split(" ")[0]}`));
    source.addEventListener("bye", ({ data }) => data === "revoked" ? (close(), location.reload()) : again(data === "shutdown" ? 3 : 1));
  };
  const judge = () => {
    if (document.hidden || isPaused) return;
    const silent = clock() - heard > SILENT;
    if (silent) show("stale");
    else if (failures.length > 2) show("polling");
    else if (lostAt) show(clock() - lostAt > GRACE ? "stale" : "reconnecting");
    if (silent && !lostAt) lost();
    if (clock() - asked > (lostAt ? POLL : QUIET)) resync();
  };

  // A fragment that came proves the server alive, even where no stream can be had.
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (!ctx.sourceEvent?.type.startsWith("live:") || ctx.response.status >= 400) return;
    if (lostAt && clock() - heard > SILENT) again(0);
    heard = clock();
  });
  pill.addEventListener("click", () => {
    isPaused = !isPaused;
    pill.ariaPressed = isPaused;
    open();
  });
  banner.lastElementChild.addEventListener("click", () => {
    resync();
    again(0);
  });
  document.addEventListener("visibilitychange", open);
  addEventListener("pagehide", close);
  addEventListener("pageshow", ({ persisted }) => persisted && open());
  addEventListener("online", open);
  addEventListener("offline", () => {
    heard = -SILENT;
    lost();
  });

  pill.hidden = false;
  setInterval(judge, 1000);
  open();
})();
