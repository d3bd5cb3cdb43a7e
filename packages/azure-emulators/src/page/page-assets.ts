/** The page itself: no external asset, and text from messages is only ever set as text. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Drover emulators</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body>
<header><h1>Drover emulators</h1><p id="connections"></p></header>
<main>
<section>
<table>
<thead><tr><th>service</th><th>entity</th><th>depth</th><th>in flight</th><th>scheduled</th><th>dead letters</th></tr></thead>
<tbody id="entities"></tbody>
</table>
<p id="none" hidden>No entities yet. They are made when an application uses them.</p>
</section>
<section id="detail" hidden>
<h2 id="title"></h2>
<form id="send">
<textarea name="body" rows="3" placeholder="message body" aria-label="message body"></textarea>
<input name="contentType" placeholder="content type" aria-label="content type">
<input name="sessionId" placeholder="session id" aria-label="session id">
<input name="partitionKey" placeholder="partition key" aria-label="partition key">
<button>Send</button>
</form>
<p>
<button id="show-active">Messages</button>
<button id="show-dead">Dead letters</button>
<button id="requeue">Requeue all dead letters</button>
<button id="purge">Purge what is shown</button>
</p>
<p id="notice" role="status"></p>
<table>
<thead><tr><th>id</th><th>state</th><th>enqueued</th><th>deliveries</th><th>body</th><th>properties</th></tr></thead>
<tbody id="messages"></tbody>
</table>
<p><button id="more" hidden>More</button></p>
</section>
<section>
<h2>Blobs and tables</h2>
<p id="storage"></p>
<div id="storage-detail" hidden>
<h3 id="storage-title"></h3>
<table>
<thead><tr><th>name</th><th>bytes</th><th>modified</th><th>content</th></tr></thead>
<tbody id="items"></tbody>
</table>
<p><button id="more-items" hidden>More</button></p>
</div>
<p id="storage-notice" role="status"></p>
</section>
</main>
</body>
</html>
`;

export const pageCss = `body { font: 14px/1.4 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 0 16px 32px; color: #1b1f24; }
header p { color: #57606a; font-family: ui-monospace, monospace; font-size: 12px; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #d8dee4; padding: 4px 8px; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.body, td.properties { font-family: ui-monospace, monospace; font-size: 12px; white-space: pre-wrap; word-break: break-word; max-width: 420px; }
tr.entity { cursor: pointer; }
tr.entity:hover, tr.chosen { background: #eef4ff; }
td.dead { color: #b42318; font-weight: 600; }
textarea { width: 100%; box-sizing: border-box; font-family: ui-monospace, monospace; }
`;

/** Runs in the browser. */
export const pageScript = `'use strict';
const byId = (id) => document.getElementById(id);
let chosen;
let deadLetters = false;
let lastId;

async function call(path, body) {
  const options = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch('api/' + path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function row(cells) {
  const line = document.createElement('tr');
  for (const [text, kind] of cells) {
    const cell = document.createElement('td');
    cell.textContent = String(text);
    if (kind) cell.className = kind;
    line.append(cell);
  }
  return line;
}

const isChosen = (entity) => chosen && chosen.service === entity.service && chosen.name === entity.name;

async function refresh() {
  try {
    const { entities, connections } = await call('entities');
    byId('connections').textContent = connections.join('\\n');
    byId('none').hidden = entities.length > 0;
    byId('entities').replaceChildren(...entities.map((entity) => {
      const line = row([[entity.service], [entity.name + (entity.kind === 'queue' ? '' : ' (' + entity.kind + ')')],
        [entity.depth, 'number'], [entity.inFlight, 'number'], [entity.scheduled, 'number'],
        [entity.deadLetters, entity.deadLetters > 0 ? 'number dead' : 'number']]);
      line.classList.add('entity');
      if (isChosen(entity)) line.classList.add('chosen');
      line.addEventListener('click', () => choose(entity));
      return line;
    }));
  } catch (error) {
    byId('connections').textContent = 'The emulators do not answer: ' + error.message;
  }
}

function choose(entity) {
  chosen = entity;
  byId('detail').hidden = false;
  byId('title').textContent = entity.name;
  show(false);
}

async function show(dead) {
  deadLetters = dead;
  lastId = undefined;
  byId('messages').replaceChildren();
  await act(addMessages);
}

async function addMessages() {
  const query = new URLSearchParams({ service: chosen.service, entity: chosen.name, deadLetters: String(deadLetters) });
  if (lastId !== undefined) query.set('after', lastId);
  const { messages, isMore } = await call('messages?' + query);
  for (const message of messages) {
    lastId = message.id;
    const properties = Object.entries(message.properties).map(([name, value]) => name + ': ' + value).join('\\n');
    byId('messages').append(row([[message.id], [message.state], [new Date(message.enqueuedMs).toLocaleTimeString()],
      [message.deliveryCount, 'number'], [message.body + (message.isCut ? ' …' : ''), 'body'], [properties, 'properties']]));
  }
  byId('more').hidden = !isMore;
  const kind = deadLetters ? 'dead letters' : 'messages';
  return byId('messages').childElementCount === 0 ? 'No ' + kind + '.' : '';
}

async function act(action) {
  try {
    byId('notice').textContent = await action();
  } catch (error) {
    byId('notice').textContent = error.message;
  }
  await refresh();
}

const target = () => ({ service: chosen.service, entity: chosen.name });

byId('send').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const message = {};
  for (const [name, value] of form) if (name === 'body' || value !== '') message[name] = value;
  act(async () => {
    await call('send', { ...target(), message });
    await show(false);
    return 'Sent.';
  });
});
byId('show-active').addEventListener('click', () => show(false));
byId('show-dead').addEventListener('click', () => show(true));
byId('more').addEventListener('click', () => act(addMessages));
byId('requeue').addEventListener('click', () => act(async () => {
  const { count } = await call('requeue', target());
  await show(false);
  return count + ' dead letters were requeued.';
}));
byId('purge').addEventListener('click', () => act(async () => {
  const { count } = await call('purge', { ...target(), deadLetters });
  await show(deadLetters);
  return count + ' messages were deleted.';
}));
let shownStorage;
let nextItems;

const storageKinds = { blob: ['Blob containers', 'Show blobs'], table: ['Tables', 'Show tables'] };

async function refreshStorage(start) {
  await storageAct(async () => {
    const { storage } = await call('storage' + (start ? '?start=' + start : ''));
    byId('storage').replaceChildren(...storage.map(({ kind, isRunning, names }) => {
      const line = document.createElement('span');
      const [title, action] = storageKinds[kind];
      line.append(title + ': ');
      if (!isRunning) line.append(button(action, () => refreshStorage(kind)));
      else if (names.length === 0) line.append('none ');
      for (const name of names) line.append(button(name, () => chooseStorage(kind, name)), ' ');
      line.append(document.createElement('br'));
      return line;
    }));
  });
}

function button(text, onClick) {
  const made = document.createElement('button');
  made.textContent = text;
  made.addEventListener('click', onClick);
  return made;
}

async function chooseStorage(kind, name) {
  shownStorage = { kind, name };
  nextItems = undefined;
  byId('storage-detail').hidden = false;
  byId('storage-title').textContent = name;
  byId('items').replaceChildren();
  await storageAct(addItems);
}

async function addItems() {
  const query = new URLSearchParams(shownStorage);
  if (nextItems !== undefined) query.set('after', nextItems);
  const { items, next } = await call('items?' + query);
  nextItems = next;
  byId('more-items').hidden = next === undefined;
  for (const item of items) {
    const line = row([[item.name], [item.bytes ?? '', 'number'], [item.modified], [item.text ?? '', 'body']]);
    const cell = line.lastElementChild;
    if (item.text === undefined) cell.replaceChildren(button('Show', () => showContent(item.name, cell)));
    byId('items').append(line);
  }
}

function showContent(item, cell) {
  return storageAct(async () => {
    const { text } = await call('content?' + new URLSearchParams({ ...shownStorage, item }));
    cell.textContent = text;
  });
}

async function storageAct(action) {
  try {
    await action();
    byId('storage-notice').textContent = '';
  } catch (error) {
    byId('storage-notice').textContent = error.message;
  }
}

byId('more-items').addEventListener('click', () => storageAct(addItems));
refresh();
refreshStorage();
setInterval(refresh, 1000);
setInterval(() => refreshStorage(), 5000);
`;
