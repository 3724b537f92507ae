// Corpus: the published trees, and a search over all of them while the reader types.

let corpus = null;
const corpusName = () => corpus?.home ?? '';
const ORDERS = {
  name: ['Name', (row) => titleOf(row).toLowerCase(), 1],
  nodes: ['Nodes', (row) => sum(row.layers), -1],
  tokens: ['Tokens', (row) => row.tokens, -1],
  failed: ['Checks that failed', (row) => row.failed.length, -1],
  published: ['Last change', (row) => row.published, -1],
  cost: ['Cost', (row) => row.cost?.spent_usd ?? -1, -1],
};
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
/** Return whether the checks and the cost of a tree are those of a partition that may have several. */
const isShared = (row) => !row.above && row.partition !== row.name;
const treeTitle = (name) => titleOf([...(corpus?.trees ?? []), ...trees].find((row) => row.name === name) ?? { name });
const treeAddress = (name) => `#${new URLSearchParams({ tree: name })}`;

async function showCorpus(root) {
  corpus = await attempt('Reading the corpus …', () => call('window/corpus'));
  if (!corpus) return;
  head(corpusName());
  const { trees: rows } = corpus;
  // All trees of a partition have the cost of the build that made them together.
  const builds = new Map(rows.map((row) => [`${row.partition} ${JSON.stringify(row.cost)}`, row.cost?.spent_usd]));
  const money = [...builds.values()].filter((usd) => typeof usd === 'number');
  const failed = new Set(rows.filter((row) => row.failed.length).map((row) => row.partition)).size;
  const documentsIn = sum(rows.map((row) => (row.above ? 0 : row.n_documents)));
  const numbers = figures([
    ...(documentsIn ? [['documents', whole(documentsIn)]] : []), ['trees', whole(rows.length)],
    ['nodes', whole(sum(rows.map((row) => sum(row.layers))))], ['tokens', whole(sum(rows.map((row) => row.tokens)))],
    [`${rows.some(isShared) ? 'partitions' : 'trees'} with a failed check`, whole(failed)],
    ['spent on the last builds', money.length ? figure('usd', sum(money)) : 'unknown'],
  ]);
  const input = el('input', {
    id: 'find', type: 'search', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'find-status',
    placeholder: 'Search titles and all texts',
  });
  const status = el('p', { class: 'status', id: 'find-status', role: 'status', 'aria-live': 'polite' });
  const order = el('select', { id: 'order' }, Object.entries(ORDERS).map(([name, [label]]) => el('option', { value: name }, label)));
  const list = el('div', { class: 'corpus-list' });
  const found = el('div', { class: 'corpus-found' });
  const show = () => list.replaceChildren(...corpusTable(input.value, order.value));
  order.addEventListener('change', show);
  input.addEventListener('input', () => { show(); find(input, status, found); });
  root.replaceChildren(numbers,
    el('div', { class: 'tools' }, el('label', { class: 'find' }, el('span', { class: 'hidden' }, 'Search the corpus'), input),
      el('label', {}, 'Order ', order), saveButton('corpus')),
    status, found, list, ...brokenSection());
  show();
}

let searchNumber = 0;
let pause = null;

/** Show the nodes whose texts contain the words; ignore an answer to an earlier search. */
function find(input, status, root) {
  clearTimeout(pause);
  const words = input.value.trim();
  searchNumber += 1;
  const number = searchNumber;
  if (!words) {
    status.textContent = '';
    root.replaceChildren();
    return;
  }
  pause = setTimeout(async () => {
    const hits = await attempt('', () => call(`window/find?${new URLSearchParams({ words })}`));
    if (number !== searchNumber || !hits) return;
    const sought = expressions(words);
    const list = el('ol', { class: 'links-list cards' });
    status.textContent = hits.nodes.length ? `${counted(hits.nodes.length, 'text')} found` : 'No text found';
    root.replaceChildren(...(hits.nodes.length ? [el('h3', {}, 'Texts'), ...portioned(list, hits.nodes.length, (at) => foundCard(hits.nodes[at], sought), 8)] : []));
  }, PAUSE_MS);
}

function foundCard(node, sought) {
  const holds = sought.some((word) => node.text.search(word) >= 0);
  return el('li', {}, el('a', { href: `#${new URLSearchParams({ node: node.id, tree: node.tree })}` },
    el('span', { class: 'meta' }, el('span', { class: `badge layer-${Math.min(node.layer, 5)}` }, node.layer ? `L${node.layer}` : '¶'), ` ${placeOfFound(node)}`),
    el('span', { class: 'line' }, holds ? excerpt(node.text, sought) : shorten(node.text, 220))));
}

/** Return the place of a node by names: its document or tree, its headings, its own name. */
function placeOfFound(node) {
  const first = node.title || (node.n_documents === 1 ? node.documents[0] : treeTitle(node.tree));
  return [...new Set([first, ...node.section, node.name])].filter(Boolean).join(' › ');
}

function corpusTable(words, order) {
  const sought = expressions(words);
  const [, by, sign] = ORDERS[order];
  const searchText = (row) => [row.name, row.title, ...row.documents.flat()].join(' ');
  const rows = corpus.trees.filter((row) => sought.every((word) => searchText(row).search(word) >= 0))
    .sort((a, b) => Number(b.above) - Number(a.above) || sign * (by(a) > by(b) ? 1 : by(a) < by(b) ? -1 : 0) || (a.name > b.name ? 1 : -1));
  if (!rows.length) return [el('p', { class: 'note' }, corpus.trees.length ? 'No title contains these words.' : 'Nothing is published yet.')];
  const most = Math.max(...corpus.trees.map((row) => row.tokens));
  const list = el('ul', { class: 'trees' });
  return [el('h3', {}, `Trees (${whole(rows.length)})`), ...portioned(list, rows.length, (at) => treeRow(rows[at], most), 60)];
}

function treeRow(row, most) {
  const shared = isShared(row) ? ' of its partition' : '';
  const checks = row.failed.length ? el('span', { class: row.passed ? 'doubtful' : 'flag' }, `▲ ${row.failed.length} of ${whole(row.checks)} checks${shared} failed`)
    : el('span', { class: 'good' }, row.checks ? `✓ ${counted(row.checks, 'check')}${shared}` : 'not checked');
  const fill = el('span', { class: 'fill layer-1' });
  fill.style.width = `${Math.max(2, 100 * row.tokens / most)}%`;
  const change = row.change?.previous ? `${whole(row.change.added)} new, ${whole(row.change.removed)} removed` : 'first build';
  const spent = row.cost ? `${figure('usd', row.cost.spent_usd ?? null)}${shared && ' for its last build'}` : 'cost unknown';
  const named = row.above ? `corpus tree over ${counted(row.n_documents, 'tree')}` : row.n_documents > 1 ? `${counted(row.n_documents, 'document')}: ${row.documents.slice(0, 3).map(([id, title]) => title || id).join(', ')}${row.n_documents > 3 ? ' …' : ''}` : row.name;
  return el('li', {}, el('a', { class: 'tree-row', href: treeAddress(row.name) },
    el('span', { class: 'tree-title' }, titleOf(row), el('span', { class: 'meta' }, named)),
    el('span', { class: 'tree-size' }, el('span', { class: 'track', 'aria-hidden': 'true' }, fill), el('span', { class: 'meta' }, `${row.layers.map(whole).join(' → ')} ${sum(row.layers) === 1 ? 'node' : 'nodes'} · ${whole(row.tokens)} tokens`)),
    el('span', { class: 'tree-state' }, checks, el('span', { class: 'meta' }, spent), row.pin ? el('span', { class: 'doubtful' }, `pinned to an earlier build: ${row.pin}`) : ''),
    el('span', { class: 'tree-change' }, el('span', { class: 'meta' }, time(row.published)), el('span', { class: 'meta' }, change))));
}

/** Return the failed checks, and the partitions that were never published. */
function brokenSection() {
  const failed = [...corpus.checks.filter((check) => !check.passed).map((check) => [null, check]),
    ...new Map(corpus.trees.flatMap((row) => row.failed.map((check) => [`${row.partition} ${check.asset} ${check.name}`, [row, check]]))).values()];
  const parts = [];
  if (failed.length) {
    const list = el('ul', { class: 'links-list cards' });
    const card = ([row, check]) => el('li', { class: 'check' },
      el('span', { class: 'meta' }, `${check.severity === 'error' ? '▲ error' : '△ warning'} · ${check.name} of ${check.asset}`, row ? [' · ', isShared(row) ? `trees of ${row.partition}` : el('a', { href: treeAddress(row.name) }, titleOf(row))] : null),
      el('span', { class: 'line' }, check.description));
    parts.push(section(`Checks that failed (${whole(failed.length)})`, 'failed', portioned(list, failed.length, (at) => card(failed[at]), 10)));
  }
  if (corpus.unpublished.length) parts.push(section('Not published', 'unpublished', el('p', {}, corpus.unpublished.join(', '))));
  return parts;
}

function corpusCsv() {
  const row = (tree) => [tree.name, tree.title, tree.n_documents, tree.layers.join(' '), tree.tokens, tree.published, tree.checks, tree.failed.length, tree.cost?.spent_usd ?? ''];
  return csv([['tree', 'title', 'documents', 'layer sizes', 'tokens', 'published', 'checks', 'failed', 'spent usd'], ...corpus.trees.map(row)]);
}
