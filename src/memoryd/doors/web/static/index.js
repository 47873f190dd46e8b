// Shows whether the daemon is ready and what it recorded last. Text goes in as text, never as HTML.
async function show() {
  const ready = await (await fetch("/readyz")).json();
  document.querySelector("#state").textContent =
    `${ready.status}, version ${ready.version}, PostgreSQL ${ready.postgres ?? "?"}` +
    (ready.detail ? `: ${ready.detail}` : "");
  const answer = await fetch("/api/v1/events?limit=20");
  const page = await answer.json();
  const events = page.events ?? [];
  document.querySelector("#none").hidden = events.length > 0;
  if (!answer.ok) document.querySelector("#none").textContent = page.detail;
  for (const event of events) {
    const row = document.querySelector("#events").insertRow();
    const text = event.content.text ?? event.content.excerpt_text ?? JSON.stringify(event.content);
    const cells = [event.position, event.ts.slice(0, 19).replace("T", " "), event.session_id,
      `${event.actor.type} ${event.actor.id}`, event.kind, text.slice(0, 300)];
    for (const cell of cells) row.insertCell().textContent = cell;
  }
}
show().catch((error) => { document.querySelector("#state").textContent = `not reachable: ${error}`; });
