/** The multipart reader at every split of the bytes, and on what only looks like a boundary. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryOf, MultipartReader } from '../../src/service/multipart.js';

const BOUNDARY = 'xyz';

async function* source(pieces: readonly Buffer[]): AsyncGenerator<Buffer, undefined> {
  for (const piece of pieces) yield piece;
  return undefined;
}

type ReadPart = { name: string; headers: [string, string][]; body: string };

async function read(pieces: readonly Buffer[], headBytes = 1000): Promise<ReadPart[]> {
  const parts: ReadPart[] = [];
  for await (const part of new MultipartReader(source(pieces), BOUNDARY, headBytes).parts()) {
    const body: Buffer[] = [];
    for await (const bytes of part.body) body.push(bytes);
    parts.push({ name: part.name, headers: [...part.headers], body: Buffer.concat(body).toString('latin1') });
  }
  return parts;
}

function encode(parts: readonly { name: string; body: Buffer }[]): Buffer {
  const pieces = parts.flatMap(({ name, body }) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    body,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function cut(bytes: Buffer, pieceBytes: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
}

/** Bodies full of what a boundary is made of. */
const TRICKY = [
  '',
  '\r\n',
  '\r\n--',
  '\r\n--xy',
  '--xyz',
  '\r\r\n--xy',
  '\n--xyz\r\n',
  '\r\n--xyy--\r\n',
  'a\r\n\r\nb',
  '--\r\n',
];

describe('MultipartReader', () => {
  const encoded = encode(TRICKY.map((text, index) => ({ name: `p${index}`, body: Buffer.from(text) })));
  const expected = TRICKY.map((body, index) => ({
    name: `p${index}`,
    headers: [['content-disposition', `form-data; name="p${index}"`]],
    body,
  }));

  test.each([1, 2, 3, 5, 7, 64, 100_000])('parts come out whole from pieces of %i bytes', async (pieceBytes) => {
    expect(await read(cut(encoded, pieceBytes))).toEqual(expected);
  });

  test('parts come out whole from two pieces, split at every byte', async () => {
    for (let at = 0; at <= encoded.length; at += 1) {
      expect(await read([encoded.subarray(0, at), encoded.subarray(at)])).toEqual(expected);
    }
  });

  test('any bytes, in any pieces, come back', async () => {
    const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(
        fc.array(body, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        async (bodies, size) => {
          const whole = encode(bodies.map((bytes, index) => ({ name: `n${index}`, body: bytes })));
          fc.pre(!bodies.some((bytes) => bytes.includes(`\r\n--${BOUNDARY}`)));
          const parts = await read(cut(whole, size));
          expect(parts.map((part) => part.body)).toEqual(bodies.map((bytes) => bytes.toString('latin1')));
        },
      ),
      { seed: 20261129, numRuns: 200 },
    );
  });

  test('a head of exactly the limit is taken, one byte more is not', async () => {
    const bytes = encode([{ name: 'a', body: Buffer.from('x') }]);
    const headBytes = '\r\nContent-Disposition: form-data; name="a"'.length;
    expect(await read(cut(bytes, 1), headBytes)).toHaveLength(1);
    await expect(read(cut(bytes, 1), headBytes - 1)).rejects.toMatchObject({ code: 'malformed_encoding' });
  });

  test('names may hold escaped quotes; header names are folded to lower case', async () => {
    const text = `--xyz\r\nCONTENT-Disposition:form-data; filename="f"; name="a\\"b\\\\"\r\nX-A:  1 \r\n\r\n\r\n--xyz--`;
    expect(await read([Buffer.from(text)])).toEqual([
      {
        name: 'a"b\\',
        headers: [
          ['content-disposition', 'form-data; filename="f"; name="a\\"b\\\\"'],
          ['x-a', '1'],
        ],
        body: '',
      },
    ]);
  });
});

describe('boundaryOf', () => {
  test.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data;Boundary="a b"', 'a b'],
    ['multipart/form-data; charset=utf-8; boundary=abc; x=y', 'abc'],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  ])('%s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });

  test.each([
    undefined,
    '',
    'multipart/mixed; boundary=abc',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; xboundary=abc',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'text/multipart/form-data; boundary=abc',
  ])('%s is refused', (contentType) => {
    expect(() => boundaryOf(contentType)).toThrow(expect.objectContaining({ code: 'malformed_encoding' }));
  });
});
