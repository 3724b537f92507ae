// Marks in texts. A place is { start, end, kind }; places may overlap.

const SYNTAX = /[.*+?^${}()|[\]\\/]/g;
const escaped = (text) => text.replace(SYNTAX, '\\$&');

/** Return the first place of a passage in a text, ignoring differences of white space, or null. */
function locate(text, passage, kind) {
  const words = passage.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const exact = text.indexOf(passage.trim());
  if (exact >= 0) return { start: exact, end: exact + passage.trim().length, kind };
  const match = new RegExp(words.map(escaped).join('\\s+'), 'u').exec(text);
  return match && { start: match.index, end: match.index + match[0].length, kind };
}

/** Return all places that match any of the expressions. */
function places(text, expressions, kind) {
  return expressions.flatMap((expression) =>
    [...text.matchAll(expression)].filter((match) => match[0]).map((match) => (
      { start: match.index, end: match.index + match[0].length, kind })));
}

/** Return the text with its marks; `begin` may return an element for the start of a place. */
function marked(text, spans, begin = () => null) {
  const cuts = new Set([0, text.length]);
  for (const place of spans) cuts.add(place.start).add(place.end);
  const edges = [...cuts].sort((a, b) => a - b);
  const pieces = document.createDocumentFragment();
  for (let at = 0; at < edges.length - 1; at += 1) {
    const [start, end] = [edges[at], edges[at + 1]];
    const over = spans.filter((place) => place.start <= start && place.end >= end);
    const opening = spans.filter((place) => place.start === start).map(begin);
    const kinds = [...new Set(over.map((place) => place.kind))].join(' ');
    const body = text.slice(start, end);
    pieces.append(...opening.filter(Boolean), kinds ? el('mark', { class: kinds }, body) : body);
  }
  return pieces;
}
