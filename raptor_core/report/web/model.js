// Data of the report (raptor_core/report/data.py). Nodes refer to nodes and documents by index.

let report = {};
let nodes = [];
let documents = [];
let trees = [];
let findings = [];
let chosen = [];
/** Nodes selected for the last question, as [{ question, strategy, ids }], to highlight in all views. */
let highlights = [];
const idIndex = new Map();
const findingsOf = new Map();

/** Replace the report that the page shows. */
function load(values) {
  report = values;
  ({ nodes, documents, trees } = values);
  findings = values.findings ?? [];
  idIndex.clear();
  findingsOf.clear();
  nodes.forEach((node, index) => {
    node.index = index;
    node.parents = [];
    node.c ??= [];
    idIndex.set(node.id, index);
  });
  for (const node of nodes) for (const child of node.c) nodes[child].parents.push(node.index);
  findings.forEach((finding, index) => {
    finding.index = index;
    if (!findingsOf.has(finding.node)) findingsOf.set(finding.node, []);
    findingsOf.get(finding.node).push(finding);
  });
  chosen = [];
  applyHighlights();
}

/** Select the nodes of this report that the last question selected. */
function applyHighlights() {
  if (!highlights.length) return;
  chosen = highlights.map(({ question, strategy, ids }) => (
    { question, strategy, nodes: ids.map((id) => idIndex.get(id)).filter((at) => at !== undefined) }));
  chosen = chosen.filter((selection) => selection.nodes.length);
}

const nameOf = (node) => node.m ?? '';
const titleOf = (tree) => tree.title || tree.name;

/** Return the ranks of a node by strategy, as [strategy, number of the strategy, rank]. */
const ranksOf = (node) => chosen.map(({ strategy, nodes: indexes }, place) => [strategy, place, indexes.indexOf(node.index) + 1])
  .filter(([, , rank]) => rank > 0);
const isLeaf = (node) => node.l === 0;
const isPlaced = (node) => node.s !== undefined;
const textOf = (node) => node.x ?? documents[node.d].x.slice(node.s, node.e);
const doubtsOf = (node) => (findingsOf.get(node.index) ?? []).filter((f) => f.judgement !== 'supported');
const kindOf = (node) => (isLeaf(node) ? 'Chunk' : `Summary · layer ${node.l}`);
const topLayer = (tree) => trees[tree].layers.at(-1).layer;
const documentName = (node) => documents[node.d].title || documents[node.d].id;
const placeOf = (leaf) => [documentName(leaf), formatPages([leaf])].filter(Boolean).join(', ');

/** Format the pages of leaves, such as "pages 3, 7–9"; '' for no pages. */
function formatPages(leaves) {
  const pages = leaves.flatMap((leaf) => leaf.p ?? []).sort((a, b) => a - b);
  const runs = [];
  for (const page of new Set(pages)) {
    if (runs.length && page === runs.at(-1)[1] + 1) runs.at(-1)[1] = page;
    else runs.push([page, page]);
  }
  if (!runs.length) return '';
  const ranges = runs.slice(0, 8).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return `${pages[0] === pages.at(-1) ? 'page' : 'pages'} ${ranges.join(', ')}${runs.length > 8 ? ' …' : ''}`;
}

/** Return the indexes of the nodes in the top layer of a tree. */
function rootsOf(tree) {
  const top = topLayer(tree);
  return nodes.filter((node) => node.t === tree && node.l === top).map((node) => node.index);
}

/** Return the tokens of a node over those of its children; null for a leaf. */
function compressionOf(node) {
  const below = node.c.reduce((sum, child) => sum + nodes[child].n, 0);
  return below ? node.n / below : null;
}

/** Return the leaves under a node in document order; for a leaf, the leaf. */
function leavesUnder(node) {
  let front = new Set([node.index]);
  const leaves = new Set();
  while (front.size) {
    const next = new Set();
    for (const index of front) {
      if (isLeaf(nodes[index])) leaves.add(index);
      else for (const child of nodes[index].c) next.add(child);
    }
    front = next;
  }
  return [...leaves].sort((a, b) => a - b).map((index) => nodes[index]);
}

/** Return the path from a top node down to this node, through first parents. */
function pathTo(node) {
  const path = [node.index];
  for (let at = node; at.parents.length; at = nodes[at.parents[0]]) path.unshift(at.parents[0]);
  return path;
}

/** Return the path to a node that shares most with the reader's path. */
function pathFrom(path, node) {
  const place = path.indexOf(node.index);
  if (place >= 0) return path.slice(0, place + 1);
  const parent = path.findLastIndex((index) => nodes[index].c.includes(node.index));
  return parent >= 0 ? [...path.slice(0, parent + 1), node.index] : pathTo(node);
}

/** Return the address of a node in this page; `more` may name a finding or its passage. */
function address(node, more = {}) {
  const tree = served ? { tree: trees[node.t].name } : {};
  return `#${new URLSearchParams({ node: node.id, ...tree, ...more })}`;
}
