// Elements. Texts of documents are added to the page here, as text and never as markup.

const PORTION = 50;

/** Create an element; omit attributes that are null, undefined or false; on… are listeners. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const byElementId = (id) => document.getElementById(id);

const wholeNumber = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const whole = (number) => wholeNumber.format(number);
const decimal = (number, digits = 2) => (
  number.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const counted = (number, singular, plural = `${singular}s`) => `${whole(number)} ${number === 1 ? singular : plural}`;

/** Format a time for people; return a text that is not a time unchanged. */
function time(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(date)} UTC`;
}

/** Shorten a text to a line of at most `length` characters, cut between words. */
function shorten(text, length = 160) {
  const line = text.slice(0, length * 3).replace(/\s+/g, ' ').trim();
  if (line.length <= length) return line;
  const cut = line.slice(0, length);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), length / 2))} …`;
}

/** Fill a list in portions, so that a long list stays small; a button adds the next portion. */
function portioned(list, count, make, size = PORTION) {
  let shown = 0;
  const more = el('button', { type: 'button', class: 'more', onclick: () => grow(true) });
  const grow = (focus) => {
    const end = Math.min(count, shown + size);
    let first = null;
    for (; shown < end; shown += 1) {
      const item = make(shown);
      first ??= item;
      list.append(item);
    }
    more.hidden = shown >= count;
    more.textContent = `Show ${whole(Math.min(size, count - shown))} of ${whole(count - shown)} more`;
    if (focus && first) (first.querySelector('a, button') ?? first).focus();
  };
  grow(false);
  return [list, more];
}

/** Save a text or a picture as a file. */
function save(name, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: 'text/plain' }));
  el('a', { href: url, download: name.replace(/[^\w.-]+/g, '_') }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Format rows as CSV; a text that a spreadsheet would read as a formula is quoted. */
function csv(rows) {
  const cell = (value) => {
    const text = String(value ?? '');
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return `\ufeff${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
}

/** Create a section that its heading names. */
function section(title, name, ...children) {
  const id = `heading-${name}`;
  return el('section', { class: name, 'aria-labelledby': id }, el('h3', { id }, title), ...children);
}
