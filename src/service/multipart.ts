/**
 * Reads a multipart body as it arrives (RFC 2046), one part after the other, holding at most one network read and a
 * boundary's length. Written by hand because the parts need their own headers, exact ends and hard bounds, and nothing
 * else of multipart is on this wire (spec 06 section 2).
 */
import { rejected } from './refusal.js';

export type Part = {
  /** Names in lower case; the last of equal names. */
  readonly headers: ReadonlyMap<string, string>;
  /** The `name` parameter of Content-Disposition. */
  readonly name: string;
  /** Must be read to its end before the next part is asked for. */
  readonly body: AsyncGenerator<Buffer, void>;
};

const EMPTY = Buffer.alloc(0);
const HEAD_END = Buffer.from('\r\n\r\n');
const BOUNDARY_TYPE = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))\s*(?:;|$)/i;
const DISPOSITION_NAME = /;\s*name="((?:[^"\\]|\\.)*)"/i;

/**
 * The boundary named by a Content-Type header.
 *
 * @throws Refusal 400 `malformed_encoding` when the header is not multipart/form-data with a boundary.
 */
export function boundaryOf(contentType: string | undefined): string {
  const match = BOUNDARY_TYPE.exec(contentType ?? '');
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined) return boundary;
  throw rejected('malformed_encoding', 'the body must be multipart/form-data with a boundary of 1 to 70 characters');
}

/** Splits the bytes of one body; `headBytes` bounds the head of a part. Every fault is a 400 `malformed_encoding`. */
export class MultipartReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  readonly #headBytes: number;
  /** Bytes read and not yet given out. Starts with a line end, so that the first boundary looks like the others. */
  #rest: Buffer = Buffer.from('\r\n');
  #isAtPart = false;

  constructor(source: AsyncIterator<Buffer>, boundary: string, headBytes: number) {
    this.#source = source;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
    this.#headBytes = headBytes;
  }

  /** The parts in the order they arrive. Ends only after the closing boundary. */
  async *parts(): AsyncGenerator<Part, void> {
    await this.#skipPreamble();
    while (await this.#hasPart()) {
      const headers = parseHead(await this.#head());
      this.#isAtPart = true;
      yield { headers, name: nameOf(headers), body: this.#body() };
      if (this.#isAtPart) throw new Error('a part was left before its end');
    }
    this.#rest = EMPTY;
  }

  async *#body(): AsyncGenerator<Buffer, void> {
    const keepBytes = this.#delimiter.length - 1;
    for (;;) {
      const at = this.#rest.indexOf(this.#delimiter);
      const until = at >= 0 ? at : this.#rest.length - keepBytes;
      if (until > 0) {
        const bytes = this.#rest.subarray(0, until);
        this.#rest = this.#rest.subarray(until);
        yield bytes;
      }
      if (at >= 0) {
        this.#rest = this.#rest.subarray(this.#delimiter.length);
        this.#isAtPart = false;
        return;
      }
      await this.#more('inside a part');
    }
  }

  async #skipPreamble(): Promise<void> {
    for (;;) {
      const at = this.#rest.indexOf(this.#delimiter);
      if (at >= 0) {
        this.#rest = this.#rest.subarray(at + this.#delimiter.length);
        return;
      }
      if (this.#rest.length > this.#headBytes) throw malformed('no boundary at the start of the body');
      await this.#more('before the first boundary');
    }
  }

  /** Behind a boundary: a line end means another part, two hyphens the end. */
  async #hasPart(): Promise<boolean> {
    for (;;) {
      while (this.#rest.length < 2) await this.#more('at a boundary');
      if (this.#rest[0] === 0x2d && this.#rest[1] === 0x2d) return false;
      if (this.#rest[0] === 0x0d && this.#rest[1] === 0x0a) return true;
      if (this.#rest[0] !== 0x20 && this.#rest[0] !== 0x09) throw malformed('a boundary is followed by other bytes');
      this.#rest = this.#rest.subarray(1);
    }
  }

  /** The header block, from the line end behind the boundary to the empty line. */
  async #head(): Promise<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(HEAD_END);
      // Without its end in sight, what has arrived may hold all but the last byte of that end.
      const headBytes = at < 0 ? this.#rest.length - HEAD_END.length + 1 : at;
      if (headBytes > this.#headBytes) {
        throw malformed(`the head of a part is longer than ${this.#headBytes} bytes`);
      }
      if (at >= 0) {
        const head = this.#rest.subarray(0, at);
        this.#rest = this.#rest.subarray(at + HEAD_END.length);
        return head;
      }
      await this.#more('in the head of a part');
    }
  }

  async #more(where: string): Promise<void> {
    const next = await this.#source.next();
    if (next.done) throw malformed(`the body ends ${where}, without its closing boundary`);
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
  }
}

function parseHead(head: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of head.toString('latin1').split('\r\n')) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    if (colon <= 0) throw malformed('a header line of a part has no name');
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function nameOf(headers: ReadonlyMap<string, string>): string {
  const disposition = headers.get('content-disposition') ?? '';
  const name = /^form-data\b/i.test(disposition) ? DISPOSITION_NAME.exec(disposition)?.[1] : undefined;
  if (name === undefined) throw malformed('a part has no form-data name');
  return name.replace(/\\(.)/g, '$1');
}

function malformed(what: string): Error {
  return rejected('malformed_encoding', `malformed multipart body: ${what}`);
}
