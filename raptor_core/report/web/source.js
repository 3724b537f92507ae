// Span of a leaf in its document, with the text around it.

const AROUND = 1200;
const FURTHER = 6000;

/** Return the next place where a word begins; never the middle of a character. */
function wordStart(text, at) {
  if (at <= 0 || at >= text.length) return Math.max(0, Math.min(at, text.length));
  const gap = text.slice(at - 1, at + 80).search(/\s/);
  if (gap >= 0) return at + gap;
  return /[\uDC00-\uDFFF]/.test(text[at]) ? at + 1 : at;
}

function documentView(node, marks) {
  const source = documents[node.d];
  if (!isPlaced(node)) {
    const reason = source.x === undefined
      ? 'The text of this document is not known here, so only the chunk is shown.'
      : 'The document has changed since this tree was published, so only the chunk is shown.';
    return section('In the document', 'source', placeLine(node), el('p', { class: 'note' }, reason));
  }
  const box = el('div', {
    class: 'document', tabindex: '0', role: 'region', 'aria-label': `Text of ${documentName(node)} around the chunk`,
  });
  let from = wordStart(source.x, node.s - AROUND);
  let to = wordStart(source.x, node.e + AROUND);
  const more = (label, act) => el('button', { type: 'button', class: 'more', onclick: act }, label);
  const fill = () => {
    const span = el('span', { class: 'span' }, marked(textOf(node), marks));
    const parts = [source.x.slice(from, node.s), span, source.x.slice(node.e, to)];
    const first = from > 0 ? more('Show earlier text', () => earlier()) : el('p', { class: 'edge' }, 'Start of the document');
    const last = to < source.x.length ? more('Show later text', () => later()) : el('p', { class: 'edge' }, 'End of the document');
    box.replaceChildren(first, el('div', { class: 'prose' }, ...parts), last);
  };
  const earlier = () => {
    const height = box.scrollHeight - box.scrollTop;
    from = wordStart(source.x, from - FURTHER);
    fill();
    box.scrollTop = box.scrollHeight - height;
    box.focus({ preventScroll: true });
  };
  const later = () => {
    const top = box.scrollTop;
    to = wordStart(source.x, to + FURTHER);
    fill();
    box.scrollTop = top;
    box.focus({ preventScroll: true });
  };
  fill();
  return section('In the document', 'source', placeLine(node), box);
}

/** Return a link to a document in its own place. */
const originalLink = (link) => el('a', { href: link, target: '_blank', rel: 'noreferrer' }, 'Open the original');

function placeLine(node) {
  const source = documents[node.d];
  const parts = [el('strong', {}, documentName(node))];
  if (source.title && source.title !== source.id) parts.push(el('span', { class: 'path' }, source.id));
  if (node.p) parts.push(el('span', {}, formatPages([node])));
  if (node.h) parts.push(el('span', {}, node.h.join(' › ')));
  parts.push(el('span', {}, `characters ${whole(node.o[0])} to ${whole(node.o[1])}`));
  if (node.a) parts.push(originalLink(node.a));
  return el('p', { class: 'place' }, parts.flatMap((part, at) => (at ? [' · ', part] : [part])));
}

/** Scroll the document so that the span, or its marked passage, is in the upper part. */
function showSpan(root) {
  const box = root.querySelector('.document');
  const span = box?.querySelector('.span');
  if (!span) return;
  const aim = span.querySelector('mark.passage') ?? span;
  box.scrollTop += aim.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 4;
}

/** Return links to the previous and the next chunk of the document. */
function neighbours(node) {
  const near = (step) => {
    const leaf = nodes[node.index + step];
    return leaf && isLeaf(leaf) && leaf.d === node.d ? leaf : null;
  };
  const link = (leaf, label) => leaf && el('a', { href: address(leaf) }, label);
  const links = [link(near(-1), '← Previous chunk'), link(near(1), 'Next chunk →')].filter(Boolean);
  return links.length ? el('p', { class: 'neighbours' }, links) : null;
}
