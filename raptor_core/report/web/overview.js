// Overview of a tree: its top layer, layers, change, audit, cost, settings.

function overview(root, tree) {
  const parts = [
    el('a', { class: 'back', href: '#browse' }, 'Browse the nodes →'),
    el('h2', {}, 'Overview'),
    el('div', { class: 'actions' }, saveButton('tree')),
    ...chosenSections(), topSection(tree), layersSection(tree), changeSection(tree), auditSection(), costSection(tree),
    documentsSection(tree), settingsSection(),
  ];
  root.replaceChildren(...parts.filter(Boolean));
}

/** Return the nodes selected for a question, a list for each strategy. */
function chosenSections() {
  return chosen.map(({ question, strategy, nodes: indexes }, place) => {
    const list = el('ol', { class: 'links-list cards' });
    const label = el('p', {}, el('span', { class: `rank by-${place % 5}` }, '★'), ` “${question}”`);
    return section(`Chosen by ${strategy} (${whole(indexes.length)})`, `chosen-${place}`, label,
      portioned(list, indexes.length, (at) => nodeCard(indexes[at]), 20));
  });
}

function topSection(tree) {
  const roots = rootsOf(tree);
  const list = el('ol', { class: 'top-texts' });
  const item = (at) => el('li', {}, el('a', { href: address(nodes[roots[at]]) }, nameOf(nodes[roots[at]]) ? el('strong', {}, `${nameOf(nodes[roots[at]])} `) : null, shorten(textOf(nodes[roots[at]]), 900)));
  const top = topLayer(tree);
  const title = top ? `At the top · ${counted(roots.length, 'summary', 'summaries')} of layer ${top}` : 'One layer';
  return section(title, 'top', portioned(list, roots.length, item, 4),
    el('p', { class: 'note' }, `The tree ends at layer ${top}${trees[tree].ended && `: ${trees[tree].ended}`}`));
}

/** Return the table of layers; a bar compares each layer with the largest one. */
function layersSection(tree) {
  const layers = trees[tree].layers;
  const most = Math.max(...layers.map((layer) => layer.nodes));
  const { paper } = report;
  const row = (layer) => el('tr', {},
    el('th', { scope: 'row' }, el('span', { class: `badge layer-${Math.min(layer.layer, 5)}` }, layer.layer ? `L${layer.layer}` : '¶'),
      layer.layer ? ` Layer ${layer.layer}` : ' Chunks'),
    el('td', {}, whole(layer.nodes)), bar(layer.nodes / most, layer.layer),
    el('td', {}, whole(layer.tokens)),
    el('td', {}, decimal(layer.tokens / layer.nodes, 1)),
    el('td', {}, layer.children === null ? '–' : decimal(layer.children, 1)),
    el('td', {}, layer.compression === null ? '–' : decimal(layer.compression)),
    el('td', {}, layer.parents === null ? '–' : decimal(layer.parents)));
  const head = ['Layer', 'Nodes', '', 'Tokens', 'Tokens per node', 'Children per summary', 'Compression', 'Parents per node'];
  const paperRow = el('tr', { class: 'paper' }, el('th', { scope: 'row' }, 'Mean in the paper'), el('td'), el('td'), el('td'), el('td'),
    el('td', {}, String(paper.children)), el('td', {}, String(paper.compression)), el('td'));
  const table = el('table', {},
    el('caption', {}, `Compression is a summary’s tokens over its children’s. In the paper (table 10) a summary has ${paper.children} children and ${paper.compression} of their tokens.`),
    el('thead', {}, el('tr', {}, head.map((name) => (name ? el('th', { scope: 'col' }, name) : el('td'))))),
    el('tbody', {}, [...layers].reverse().map(row), paperRow));
  return section('Layers', 'layers', el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of layers' }, table));
}

function bar(share, layer) {
  const fill = el('span', { class: `fill layer-${Math.min(layer, 5)}` });
  fill.style.width = `${Math.max(1, 100 * share)}%`;
  return el('td', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

function changeSection(tree) {
  const { change } = trees[tree];
  if (!change) return section('Change since the last build', 'change', el('p', { class: 'note' }, 'Not recorded.'));
  if (!change.previous) return section('Change since the last build', 'change', el('p', {}, 'This is the first build of the tree.'));
  const all = trees[tree].layers.reduce((sum, layer) => sum + layer.nodes, 0);
  const fresh = nodes.filter((node) => node.t === tree && node.w).map((node) => node.index).reverse();
  const list = el('ul', { class: 'links-list cards' });
  return section('Change since the last build', 'change',
    figures([['new', whole(change.added)], ['removed', whole(change.removed)], ['kept', whole(all - change.added)]]),
    el('p', { class: 'note' }, `In nodes, compared with the tree published ${time(change.previous)}.`),
    fresh.length ? el('details', {}, el('summary', {}, `The ${counted(fresh.length, 'new node')}`),
      portioned(list, fresh.length, (at) => nodeCard(fresh[at]), 20)) : null);
}

function figures(pairs) {
  return el('dl', { class: 'figures' }, pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function auditSection() {
  if (!report.findings) return section('Audit', 'audit', el('p', { class: 'note' }, 'No audit of this tree is known.'));
  if (!findings.length) return section('Audit', 'audit', el('p', { class: 'note' }, 'No sentence was audited.'));
  const count = (kind) => findings.filter((finding) => finding.judgement === kind).length;
  return section('Audit', 'audit',
    figures(Object.keys(LABELS).map((kind) => [`${SYMBOLS[kind]} ${LABELS[kind].toLowerCase()}`, whole(count(kind))])),
    el('p', {}, `Sentences of ${counted(findingsOf.size, 'audited summary', 'audited summaries')}. `, el('a', { href: '#findings' }, 'See the findings')));
}

/** Return the cost of the build; names end in their units. */
function costSection(tree) {
  if (!report.cost) return section('Cost of the build', 'cost', el('p', { class: 'note' }, 'Not recorded.'));
  const pairs = report.cost.map(([name, value]) => [name.replace(/_usd$/, '').replaceAll('_', ' '), figure(name, value)]);
  const unknown = report.cost.some(([, value]) => value === null);
  return section('Cost of the build', 'cost', figures(pairs),
    unknown ? el('p', { class: 'note' }, 'A cost is unknown if the settings have no price for the model.') : null);
}

function figure(name, value) {
  if (value === null) return 'unknown';
  if (typeof value === 'string') return value;
  if (name.endsWith('usd')) return `${value.toLocaleString('en', { maximumSignificantDigits: 4 })} USD`;
  return Number.isInteger(value) ? whole(value) : decimal(value);
}

function documentsSection(tree) {
  const first = new Map();
  for (const node of nodes) if (node.t === tree && isLeaf(node) && !first.has(node.d)) first.set(node.d, node);
  const leaves = [...first.values()];
  const list = el('ul', { class: 'links-list compact' });
  const row = (at) => el('li', {}, el('a', { href: address(leaves[at]) },
    el('span', { class: 'line' }, documentName(leaves[at])),
    el('span', { class: 'meta' }, documents[leaves[at].d].id)));
  return section(`Documents (${whole(leaves.length)})`, 'documents', portioned(list, leaves.length, row, 20));
}

function settingsSection() {
  if (!report.settings) return null;
  return section('Settings', 'settings',
    el('details', {}, el('summary', {}, 'Settings of these trees'), el('pre', { tabindex: '0' }, report.settings)));
}
