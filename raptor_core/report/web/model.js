// The report's data: nodes refer to each other, and to documents, by index (raptor_core/report/data.py).

let report = {};
let nodes = [];
let documents = [];
let trees = [];
let findings = [];
let chosen = [];
/** What a question chose last, as [{ question, strategy, ids }]: lit in tree, map and layers. */
let lit = [];
const idIndex = new Map();
const findingsOf = new Map();

/** Show this report from now on. */
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
  chosen = values.chosen ?? [];
  light();
}

/** Mark what the last question chose of this report's nodes. */
function light() {
  if (!lit.length) return;
  chosen = lit.map(({ question, strategy, ids }) => (
    { question, strategy, nodes: ids.map((id) => idIndex.get(id)).filter((at) => at !== undefined) }));
  chosen = chosen.filter((one) => one.nodes.length);
}

const nameOf = (node) => node.m ?? '';
const titleOf = (tree) => tree.title || tree.name;

/** Ranks of a node by what chose it, as [strategy, its place among the strategies, rank]. */
const ranksOf = (node) => chosen.map(({ strategy, nodes: indexes }, place) => [strategy, place, indexes.indexOf(node.index) + 1])
  .filter(([, , rank]) => rank > 0);
const isLeaf = (node) => node.l === 0;
const isPlaced = (node) => node.s !== undefined;
const textOf = (node) => node.x ?? documents[node.d].x.slice(node.s, node.e);
const doubtsOf = (node) => (findingsOf.get(node.index) ?? []).filter((f) => f.judgement !== 'supported');
const kindOf = (node) => (isLeaf(node) ? 'Chunk' : `Summary · layer ${node.l}`);
const topLayer = (tree) => trees[tree].layers.at(-1).layer;
const documentName = (node) => documents[node.d].title || documents[node.d].id;
const placeOf = (leaf) => [documentName(leaf), toldPages([leaf])].filter(Boolean).join(', ');

/** Pages that leaves are printed on, such as "pages 3, 7–9"; empty where they have none. */
function toldPages(leaves) {
  const pages = leaves.flatMap((leaf) => leaf.p ?? []).sort((a, b) => a - b);
  const runs = [];
  for (const page of new Set(pages)) {
    if (runs.length && page === runs.at(-1)[1] + 1) runs.at(-1)[1] = page;
    else runs.push([page, page]);
  }
  if (!runs.length) return '';
  const told = runs.slice(0, 8).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return `${pages[0] === pages.at(-1) ? 'page' : 'pages'} ${told.join(', ')}${runs.length > 8 ? ' …' : ''}`;
}

/** Indexes of the top layer's nodes of a tree. */
function rootsOf(tree) {
  const top = topLayer(tree);
  return nodes.filter((node) => node.t === tree && node.l === top).map((node) => node.index);
}

/** What a summary was paid for; null where that is not known or it took nothing. */
function paidOf(node) {
  if (!node.u) return null;
  const [calls, retries, prompt, completion, usd] = node.u;
  return { calls, retries, prompt, completion, tokens: prompt + completion, usd };
}

/** A node's tokens over its children's; null for a leaf. */
function compressionOf(node) {
  const below = node.c.reduce((sum, child) => sum + nodes[child].n, 0);
  return below ? node.n / below : null;
}

/** Leaves under a node in document order, each once; a leaf itself is under itself. */
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

/** From a top node down to this one, each time through the first parent. */
function pathTo(node) {
  const path = [node.index];
  for (let at = node; at.parents.length; at = nodes[at.parents[0]]) path.unshift(at.parents[0]);
  return path;
}

/** The path to a node, as near to the one that the reader came by as it can be. */
function pathFrom(path, node) {
  const there = path.indexOf(node.index);
  if (there >= 0) return path.slice(0, there + 1);
  const parent = path.findLastIndex((index) => nodes[index].c.includes(node.index));
  return parent >= 0 ? [...path.slice(0, parent + 1), node.index] : pathTo(node);
}

/** Address of a node within this page; `more` may name a finding, or a finding's passage. */
function address(node, more = {}) {
  const tree = served ? { tree: trees[node.t].name } : {};
  return `#${new URLSearchParams({ node: node.id, ...tree, ...more })}`;
}
