// Start of the page. The address names the view: #node=ID, #overview, #findings.

const detail = byElementId('detail');
const results = new SearchView(byElementId('query'), byElementId('results'), byElementId('search-status'), byElementId('browser'));
const doubts = new FindingsView(byElementId('panel-findings'));
const explorer = new TreeView(byElementId('tree'), (node, nodePath) => go(address(node), nodePath));
const tabs = [byElementId('tab-tree'), byElementId('tab-findings')];
let current = 0;
let path = [];
let chosenPath = null;
let searched = false;

/** Open an address; `nodePath` is the path of the reader in the tree, if known. */
function go(hash, nodePath = null) {
  chosenPath = nodePath;
  if (location.hash === hash) follow();
  else location.hash = hash;
}

/** Show the view that the address names; see `VIEWS`. */
async function follow() {
  const params = new URLSearchParams(location.hash.slice(1));
  const name = params.get('tree') ?? (params.has('node') && served ? await treeOf(params.get('node')) : null);
  const view = VIEWS.find((entry) => params.has(entry.name)) ?? (params.has('node') || params.has('tree') || page.report ? null : VIEWS[0]);
  say('');
  if (served && !decisions) await readDecisions();
  if (view?.isWhole && !name) return showView(view, null);
  if (!(await ready(name))) return null;
  if (view) return showView(view, name);
  document.body.dataset.view = 'tree';
  showViewLinks('tree');
  head();
  const node = nodes[idIndex.get(params.get('node'))];
  if (node) openNode(node, params);
  else if (params.has('findings')) openFindings();
  else if (params.has('browse')) setPane('list', byElementId('query'));
  else openOverview();
  return null;
}

/** Views other than the tree; a view with `isWhole` needs no tree. */
const VIEWS = [
  { name: 'corpus', label: 'Corpus', isThere: () => served, isWhole: true, show: showCorpus },
  { name: 'map', label: 'Map', isThere: () => served || report.atlas, isWhole: served, show: (root, tree) => showAtlas(root, tree, false) },
  { name: 'layers', label: 'Layers', isThere: () => served || report.atlas, isWhole: served, show: (root, tree) => showAtlas(root, tree, true) },
  { name: 'decisions', label: 'Decisions', isThere: () => served, isWhole: true, show: showDecisions },
  { name: 'ask', label: 'Ask', isThere: () => served, isWhole: true, show: showAsk },
];

async function showView(view, tree) {
  document.body.dataset.view = view.name;
  setPane('detail');
  showViewLinks(view.name);
  head(tree ? undefined : (served ? corpusName() : undefined));
  document.title = `${view.label} · RAPTOR`;
  detail.scrollTop = 0;
  stopDrawing();
  await view.show(detail, tree);
}

/** Show links to the views, of the open tree if there is one. */
function showViewLinks(current) {
  const open = trees.length ? `${trees[openNumber()].name}` : null;
  const link = (name, label, href) => el('a', { href, 'aria-current': name === current ? 'page' : null }, label);
  const of = (view) => (open && served && !['corpus', 'ask', 'decisions'].includes(view.name) ? `#${new URLSearchParams({ [view.name]: '', tree: open })}` : `#${view.name}`);
  const links = VIEWS.filter((view) => view.isThere() && (open || view.isWhole)).map((view) => link(view.name, view.label, of(view)));
  if (open) links.splice(served ? 1 : 0, 0, link('tree', 'Tree', served ? `#${new URLSearchParams({ tree: open })}` : '#overview'));
  byElementId('views').replaceChildren(...links);
}

const openNumber = () => Math.min(current, trees.length - 1);

async function treeOf(id) {
  if (idIndex.has(id)) return trees[nodes[idIndex.get(id)].t].name;
  const node = await attempt('', () => call(`nodes/${id}`));
  return node?.tree ?? null;
}

/** Load the named tree if necessary; return whether a tree is loaded. */
async function ready(name) {
  if (!name || trees.some((tree) => tree.name === name)) {
    if (name) current = trees.findIndex((tree) => tree.name === name);
    return trees.length > 0;
  }
  if (!served) return trees.length > 0;
  const values = await attempt('Opening the tree …', () => call(`window/report?${new URLSearchParams({ tree: name })}`));
  if (values) openReport(values);
  return Boolean(values);
}

function openReport(values) {
  load(values);
  const picker = byElementId('trees');
  picker.replaceChildren(...trees.map((tree, at) => el('option', { value: at }, titleOf(tree))));
  byElementId('picker').hidden = trees.length < 2;
  path = [];
  results.clear();
  showTree(0);
  doubts.show();
  selectTab(0);
}

function openNode(node, params) {
  const nodePath = chosenPath?.at(-1) === node.index ? chosenPath : pathFrom(path, node);
  const fromTree = Boolean(chosenPath);
  chosenPath = null;
  path = nodePath;
  if (node.t !== current) showTree(node.t);
  const view = { path, passage: params.get('passage'), words: searched ? results.words : [] };
  searched = false;
  setPane('detail');
  showNode(detail, node, view);
  explorer.reveal(path);
  markCurrent();
  document.title = `${kindOf(node)}: ${shorten(textOf(node), 60)} · ${byElementId('name').textContent}`;
  scrollToTarget(params.get('finding'), fromTree);
}

/** Mark the open node in the lists of results and findings. */
function markCurrent() {
  for (const link of document.querySelectorAll('.browse .links-list a')) {
    if (link.getAttribute('href') === location.hash) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

/** Scroll to the finding or passage, and focus it unless the reader moves in the tree. */
function scrollToTarget(finding, fromTree) {
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
  document.title = `${byElementId('name').textContent} · RAPTOR report`;
  detail.scrollTop = 0;
  if (location.hash) detail.focus({ preventScroll: true });
}

function openFindings() {
  if (!detail.firstChild) overview(detail, current);
  results.clear();
  selectTab(1);
  setPane('list', tabs[1]);
}

/** Show the list or the text on a narrow screen, which has no room for both. */
function setPane(name, focus = null) {
  document.body.dataset.pane = name;
  focus?.focus();
}

function showTree(number) {
  current = number;
  head();
  explorer.show(number);
}

/** Show name and figures above the view, of the open tree or the corpus. */
function head(corpus) {
  byElementId('picker').classList.toggle('unseen', corpus !== undefined);
  if (corpus !== undefined) {
    byElementId('name').textContent = corpus;
    byElementId('facts').replaceChildren();
    return;
  }
  const number = openNumber();
  const tree = trees[number];
  byElementId('trees').value = String(number);
  byElementId('name').textContent = trees.length > 1 ? `${report.name} · ${titleOf(tree)}` : titleOf(tree);
  const sizes = tree.layers.map((layer) => whole(layer.nodes)).join(' → ');
  const tokens = tree.layers.reduce((sum, layer) => sum + layer.tokens, 0);
  const facts = [`${sizes} nodes`, `${whole(tokens)} tokens`, `published ${time(tree.published)}`];
  if (tree.title) facts.unshift(tree.name);
  const unsupported = findings.filter((f) => f.judgement === 'unsupported' && nodes[f.node].t === number).length;
  if (unsupported) facts.push(el('a', { class: 'flag', href: served ? `#${new URLSearchParams({ findings: '', tree: tree.name })}` : '#findings' }, `▲ ${counted(unsupported, 'unsupported sentence')}`));
  byElementId('facts').replaceChildren(...facts.map((fact) => el('li', {}, fact)));
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
  picker.addEventListener('change', () => {
    showTree(Number(picker.value));
    if (location.hash === '#overview') openOverview();
    else location.hash = '#overview';
  });
  if (page.report) openReport(page.report);
  window.addEventListener('hashchange', follow);
  // A link to the current address fires no hashchange, so it is followed here.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) follow();
  });
  follow();
}

start();
