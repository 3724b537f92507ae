// The parts put together. What is shown is named by the address: #node=ID, #overview, #findings.

const detail = byElementId('detail');
const results = new SearchView(byElementId('query'), byElementId('results'), byElementId('search-status'), byElementId('browser'));
const doubts = new FindingsView(byElementId('panel-findings'));
const explorer = new TreeView(byElementId('tree'), (node, way) => go(address(node), way));
const tabs = [byElementId('tab-tree'), byElementId('tab-findings')];
let current = 0;
let path = [];
let chosenPath = null;
let searched = false;

/** Follow an address; `way` is the path by which the reader came, where it is known. */
function go(hash, way = null) {
  chosenPath = way;
  if (location.hash === hash) follow();
  else location.hash = hash;
}

function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const node = nodes[idIndex.get(asked.get('node'))];
  if (node) openNode(node, asked);
  else if (asked.has('findings')) openFindings();
  else if (asked.has('browse')) setPane('list', byElementId('query'));
  else openOverview();
}

function openNode(node, asked) {
  const way = chosenPath?.at(-1) === node.index ? chosenPath : pathFrom(path, node);
  const fromTree = Boolean(chosenPath);
  chosenPath = null;
  path = way;
  if (node.t !== current) showTree(node.t);
  const view = { path, passage: asked.get('passage'), words: searched ? results.words : [] };
  searched = false;
  setPane('detail');
  showNode(detail, node, view);
  explorer.reveal(path);
  markCurrent();
  document.title = `${kindOf(node)}: ${shorten(textOf(node), 60)} · ${report.name}`;
  settle(asked.get('finding'), fromTree);
}

/** In the lists of results and findings, mark what is open. */
function markCurrent() {
  for (const link of document.querySelectorAll('.browse .links-list a')) {
    if (link.getAttribute('href') === location.hash) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

/** Scroll to what was asked for, and give it the focus unless the reader walks in the tree. */
function settle(finding, fromTree) {
  const card = finding === null ? null : byElementId(`finding-${finding}`);
  if (card) {
    card.closest('details')?.setAttribute('open', '');
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: 'center' });
    return;
  }
  detail.scrollTop = 0;
  window.scrollTo(0, 0);
  detail.querySelector('.text mark.passage')?.scrollIntoView({ block: 'center' });
  if (!fromTree) detail.focus({ preventScroll: true });
}

function openOverview() {
  path = [];
  overview(detail, current);
  setPane(location.hash ? 'detail' : 'list');
  document.title = `${report.name} · RAPTOR report`;
  detail.scrollTop = 0;
  if (location.hash) detail.focus({ preventScroll: true });
}

function openFindings() {
  if (!detail.firstChild) overview(detail, current);
  results.clear();
  selectTab(1);
  setPane('list', tabs[1]);
}

/** On a narrow screen either the list or the text is there. */
function setPane(name, focus = null) {
  document.body.dataset.pane = name;
  focus?.focus();
}

function showTree(number) {
  current = number;
  const tree = trees[number];
  byElementId('trees').value = String(number);
  byElementId('name').textContent = trees.length > 1 ? `${report.name} · ${tree.name}` : tree.name;
  const sizes = tree.layers.map((layer) => whole(layer.nodes)).join(' → ');
  const tokens = tree.layers.reduce((sum, layer) => sum + layer.tokens, 0);
  const told = [`${sizes} nodes`, `${whole(tokens)} tokens`, `published ${time(tree.published)}`];
  const unsupported = findings.filter((f) => f.judgement === 'unsupported' && nodes[f.node].t === number).length;
  if (unsupported) told.push(el('a', { class: 'flag', href: '#findings' }, `▲ ${counted(unsupported, 'unsupported sentence')}`));
  byElementId('facts').replaceChildren(...told.map((fact) => el('li', {}, fact)));
  explorer.show(number);
}

function selectTab(chosen) {
  tabs.forEach((tab, at) => {
    tab.setAttribute('aria-selected', String(at === chosen));
    tab.tabIndex = at === chosen ? 0 : -1;
    byElementId(tab.getAttribute('aria-controls')).hidden = at !== chosen;
  });
}

function start() {
  tabs.forEach((tab, at) => {
    tab.addEventListener('click', () => selectTab(at));
    tab.addEventListener('keydown', (event) => {
      if (!['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
      selectTab(1 - at);
      tabs[1 - at].focus();
    });
  });
  byElementId('results').addEventListener('click', (event) => {
    searched = Boolean(event.target.closest('a'));
  });
  byElementId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    setPane('detail', detail);
  });
  const picker = byElementId('trees');
  trees.forEach((tree, at) => picker.append(el('option', { value: at }, tree.name)));
  byElementId('picker').hidden = trees.length < 2;
  picker.addEventListener('change', () => {
    showTree(Number(picker.value));
    if (location.hash === '#overview') openOverview();
    else location.hash = '#overview';
  });
  showTree(0);
  doubts.show();
  window.addEventListener('hashchange', follow);
  // A link to where the reader is already changes no address, and is followed all the same.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) follow();
  });
  follow();
}

start();
