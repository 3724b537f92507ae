// View of a node: its path, its text with marks, its source, children and parents.

function breadcrumbs(path) {
  const items = path.map((index, at) => {
    const node = nodes[index];
    const label = `${isLeaf(node) ? 'Chunk' : `L${node.l}`} ${nameOf(node) || shorten(textOf(node), 34)}`;
    const last = at === path.length - 1;
    return el('li', {}, el('a', { href: address(node), 'aria-current': last ? 'page' : null }, label));
  });
  const home = el('li', {}, el('a', { href: '#overview' }, 'Overview'));
  return el('nav', { class: 'crumbs', 'aria-label': 'Path to this node' }, el('ol', {}, home, items));
}

const MARKS = { fallback: 'written extractively: the model gave no usable answer', replaced: 'sentences of its children: what the model wrote holds facts that no leaf has', cut_off: 'ends where its answer was cut off, or was written in parts' };

function nodeFacts(node) {
  const ratio = compressionOf(node);
  const facts = [counted(node.n, 'token')];
  if (ratio !== null) facts.push(`compression ${decimal(ratio)}`, counted(node.c.length, 'child', 'children'));
  if (node.parents.length) facts.push(counted(node.parents.length, 'parent'));
  const items = facts.map((fact) => el('li', {}, fact));
  if (node.w) items.push(el('li', { class: 'new' }, 'new in the last build'));
  if (node.f) items.push(el('li', { class: 'flag' }, MARKS[node.f]));
  return el('ul', { class: 'facts' }, items);
}

/** Return the places to mark: doubtful sentences, unsupported terms, a passage, search words. */
function marksOf(node, view) {
  const text = textOf(node);
  const spans = places(text, view.words ?? [], 'match');
  for (const finding of doubtsOf(node)) {
    const place = locate(text, finding.sentence, kindName(finding));
    if (!place) continue;
    spans.push({ ...place, finding });
    for (const term of finding.missing) {
      const inside = text.slice(place.start, place.end).indexOf(term);
      if (term && inside >= 0) {
        const start = place.start + inside;
        spans.push({ start, end: start + term.length, kind: 'missing' });
      }
    }
  }
  const passage = view.passage && findings[view.passage].passage;
  const place = passage && locate(text, passage, 'passage');
  return place ? [...spans, place] : spans;
}

/** Return the symbol before a doubtful sentence, a link to its finding. */
function symbolOf(place) {
  if (!place.finding) return null;
  const { finding } = place;
  const label = `${LABELS[finding.judgement]} sentence: open the finding`;
  return el('a', {
    class: `symbol ${kindName(finding)}`, href: address(nodes[finding.node], { finding: finding.index }), 'aria-label': label,
  }, SYMBOLS[finding.judgement]);
}

/** Return a mark for each strategy that selected the node. */
function rankMarks(node) {
  return ranksOf(node).map(([strategy, place, rank]) => (
    el('span', { class: `rank by-${place % 5}`, title: `Chosen by ${strategy}` }, `★ ${rank}`)));
}

function nodeCard(index) {
  const node = nodes[index];
  const unsupported = doubtsOf(node).filter((finding) => finding.judgement === 'unsupported').length;
  const place = isLeaf(node) ? placeOf(node) : counted(node.c.length, 'child', 'children');
  return el('li', {}, el('a', { href: address(node) },
    el('span', { class: 'meta' },
      el('span', { class: `badge layer-${Math.min(node.l, 5)}` }, isLeaf(node) ? '¶' : `L${node.l}`),
      ` ${counted(node.n, 'token')} · ${place}`,
      rankMarks(node),
      node.w ? el('span', { class: 'new' }, 'new') : null,
      unsupported ? el('span', { class: 'flag' }, `▲ ${unsupported} unsupported`) : null,
      node.f ? el('span', { class: 'flag' }, MARKS[node.f]) : null),
    el('span', { class: 'line' }, nameOf(node) ? el('strong', {}, `${nameOf(node)} `) : null, shorten(textOf(node), 240))));
}

function nodeList(title, name, indexes) {
  if (!indexes.length) return null;
  const list = el('ul', { class: 'links-list cards' });
  return section(`${title} (${whole(indexes.length)})`, name, portioned(list, indexes.length, (at) => nodeCard(indexes[at]), 20));
}

/** Return the documents under a summary, with number and pages of its chunks in each. */
function sourcesSection(node) {
  const leaves = new Map();
  for (const leaf of leavesUnder(node)) {
    if (!leaves.has(leaf.d)) leaves.set(leaf.d, []);
    leaves.get(leaf.d).push(leaf);
  }
  const sources = [...leaves.values()];
  if (!sources.length) return null;
  const list = el('ul', { class: 'links-list compact' });
  const row = (at) => el('li', {}, el('a', { href: address(sources[at][0]) },
    el('span', { class: 'line' }, documentName(sources[at][0])),
    el('span', { class: 'meta' },
      [counted(sources[at].length, 'chunk'), formatPages(sources[at])].filter(Boolean).join(' · '))));
  return section(`Made from ${counted(sources.length, 'document')}`, 'sources', portioned(list, sources.length, row, 10));
}

/** Show a node in the main part of the page; `view` has path, finding, passage, search words. */
function showNode(root, node, view) {
  const marks = marksOf(node, view);
  const title = el('h2', { id: 'node-title' }, kindOf(node));
  const passage = view.passage && !isLeaf(node) ? el('p', { class: 'note' }, 'The evidence of a finding is marked.') : null;
  const parts = [
    el('a', { class: 'back', href: '#browse' }, '← Back to the list'),
    breadcrumbs(view.path),
    nameOf(node) ? el('p', { class: 'node-name' }, nameOf(node)) : null,
    el('div', { class: 'title-line' }, title, nodeFacts(node)),
    el('div', { class: 'actions' }, saveButton('node')),
    decideSection(node),
    passage,
  ];
  if (isLeaf(node)) parts.push(documentOf(node, marks), neighbours(node));
  else parts.push(textBlock(node, marks), findingsSection(node), nodeList('Children', 'children', node.c));
  parts.push(isLeaf(node) ? null : sourcesSection(node));
  parts.push(nodeList(node.parents.length === 1 ? 'Parent' : 'Parents', 'parents', node.parents));
  parts.push(el('p', { class: 'identity' }, 'Node ', el('code', {}, node.id)));
  root.replaceChildren(...sides(parts.filter(Boolean)));
  showSpan(root);
}

const textBlock = (node, marks) => el('div', { class: 'text prose' }, marked(textOf(node), marks, symbolOf));

/** Return the document of a leaf if it is known, else the text of the leaf. */
function documentOf(node, marks) {
  if (isPlaced(node)) return documentView(node, marks);
  return el('div', {}, textBlock(node, marks), documentView(node, marks));
}

/** Split the parts into two columns for wide screens: the text, and its surroundings. */
function sides(parts) {
  const isSecond = (part) => ['children', 'sources', 'parents'].includes(part.className);
  return [el('div', { class: 'first' }, parts.filter((part) => !isSecond(part))), el('div', { class: 'second' }, parts.filter(isSecond))];
}
