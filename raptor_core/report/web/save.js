// Buttons that save a view as a file.

const SAVES = {
  node: ['Save as Markdown', () => [`${nodes[path.at(-1)].id}.md`, nodeMarkdown(nodes[path.at(-1)])]],
  tree: ['Save the tree’s nodes as CSV', () => ['nodes.csv', nodesCsv(nodes.filter((node) => node.t === current))]],
  search: ['Save these as CSV', () => ['found.csv', nodesCsv(results.found)]],
  corpus: ['Save the list as CSV', () => ['trees.csv', corpusCsv()]],
  context: ['Save the context as text', () => ['context.txt', contextText()]],
};

function saveButton(name) {
  const [label, make] = SAVES[name];
  return el('button', { type: 'button', class: 'more save', onclick: () => save(...make()) }, label);
}

function nodesCsv(hits) {
  const row = (node) => [node.id, trees[node.t].name, node.l, node.n, nameOf(node), isLeaf(node) ? placeOf(node) : '', textOf(node)];
  return csv([['node', 'tree', 'layer', 'tokens', 'name', 'place', 'text'], ...hits.map(row)]);
}

function nodeMarkdown(node) {
  const sources = leavesUnder(node).map((leaf) => `- ${placeOf(leaf)}, characters ${leaf.o[0]} to ${leaf.o[1]}`);
  return `# ${nameOf(node) || kindOf(node)}\n\n${textOf(node)}\n\n## Sources\n\n${sources.join('\n')}\n\nNode ${node.id} of ${trees[node.t].name}\n`;
}
