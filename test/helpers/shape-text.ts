/**
 * Text of the parts that the shapes in shapes.ts are put together from: words, code, numbers and the arrays of a node,
 * as orjson prints them. Everything follows from the random source that is handed in.
 */

export type Random = () => number;

const WORDS =
  'the answer is in a table below value of each row was read again and then compared with what file had before so that an error would show up early in path result check next step list total count name order left right open close first second third over under between because when after until none every'.split(
    ' ',
  );

const NAMES =
  'value index result buffer offset length entry node parent message token total count path name config options reader writer handle items current previous limit start end size kind state error'.split(
    ' ',
  );

const WIDE = ['naïve', 'größer', '漢字', 'данные', '🙂', '→'];

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** An integer from `low` up to and including `high`. */
export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** 32 hex digits, as uuid4().hex has. */
export function hexId(random: Random): string {
  let text = '';
  for (let part = 0; part < 4; part += 1) {
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return text;
}

/** A float as orjson prints it, for 0 and magnitudes from 1e-5 up to 1e16: an integral one keeps its `.0`. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}

/** A float with at most `decimals` decimals. */
export function rounded(value: number, decimals: number): string {
  const scale = 10 ** decimals;
  return floatText(Math.round(value * scale) / scale);
}

/** Sentences of about `length` characters: a line break every 80 or so, some quotes, a wide character now and then. */
export function prose(random: Random, length: number): string {
  let text = '';
  while (text.length < length) {
    const words = Array.from({ length: between(random, 8, 16) }, () => pick(random, WORDS));
    const roll = random();
    if (roll < 0.2) words[3] = `"${words[3]}"`;
    if (roll > 0.9) words[5] = pick(random, WIDE);
    words[0] = `${between(random, 0, 99_999)}`;
    text += `${words.join(' ')}.${random() < 0.7 ? '\n' : ' '}`;
  }
  return text;
}

/** A number and a few words. */
export function brief(random: Random, length: number): string {
  let text = String(between(random, 0, 99_999));
  while (text.length < length) text += ` ${pick(random, WORDS)}`;
  return text;
}

/** Code of about `length` characters with something to escape every 20 or so: quotes, line breaks, tabs, backslashes. */
export function code(random: Random, length: number): string {
  const lines: string[] = [];
  for (let size = 0; size < length; ) {
    const [left, right, key, other] = [
      pick(random, NAMES),
      pick(random, NAMES),
      pick(random, NAMES),
      pick(random, NAMES),
    ];
    const number = between(random, 0, 999_999);
    const line = pick(random, [
      `\tif (${left}.${right} === "${other}${number}" && ${key}.has("${left}")) return "${key}${number}";`,
      `  const ${left}${number} = read${key}("D:\\${right}\\${number}.txt", ${other}, ${key}, ${right}.${left});`,
      `print("${left} of ${right}: %d", ${right}["${number}"]) # ${key}`,
      `    ${left}["${right}"] = ${key}_${other} + ${number} * (${left}_${key} - ${other}.${right});`,
      `  # the "${left}" and the ${key} of ${other} ${number} are not below ${right} or beside ${left} any more`,
    ]);
    lines.push(line);
    size += line.length + 1;
  }
  return lines.join('\n');
}

/** `[1,2,…]`; the numbers spread over a vocabulary of 150,000 as token ids do, small ones more often. */
export function tokenIds(random: Random, count: number): string {
  const ids: number[] = [];
  for (let index = 0; index < count; index += 1) ids.push(Math.floor(random() * random() * 150_000));
  return `[${ids.join(',')}]`;
}

/** `[true,…,false]`: runs, as masks have, of `value` and its opposite. */
export function flags(random: Random, count: number, value: boolean): string {
  const turn = Math.floor(random() * 12);
  const list: boolean[] = [];
  for (let index = 0; index < count; index += 1) list.push(index < turn ? !value : value);
  return `[${list.join(',')}]`;
}

/** Log probabilities with four decimals, most of them near zero. */
export function logprobs(random: Random, count: number): string {
  const list: string[] = [];
  for (let index = 0; index < count; index += 1) list.push(rounded(-6 * random() ** 4, 4));
  return `[${list.join(',')}]`;
}

const STRING_OR_MARK = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/**
 * The same JSON with `, ` and `: ` and the indentation of a document, but on one line: members of an object are set
 * two spaces a level apart. `text` may be a part of a document that begins `depth` levels deep; what it does not open
 * it must not close.
 */
export function spaceOut(text: string, depth: number): string {
  const open: boolean[] = [];
  return text.replace(STRING_OR_MARK, (found) => {
    if (found === '{' || found === '[') {
      open.push(found === '{');
      return found === '{' ? `{${' '.repeat(2 * (depth + open.length))}` : found;
    }
    if (found === '}' || found === ']') {
      open.pop();
      return found;
    }
    if (found === ':') return ': ';
    if (found !== ',') return found;
    return open.at(-1) === true ? `,${' '.repeat(2 * (depth + open.length))}` : ', ';
  });
}
