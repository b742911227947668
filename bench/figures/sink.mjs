/**
 * A service that stores nothing: reads a request, waits as long as it is told, and answers with the receipt its key asks
 * for. `GET /counts` says what has come: requests, and uncompressed bytes of their lines where it was asked to look.
 */
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

const [delayMs = '0', look] = process.argv.slice(2);
const counts = { requests: 0, lineBytes: 0 };

/** Bytes of the lines in a multipart body; gzip's own end says how many there were. */
function lineBytesOf(body) {
  const start = body.indexOf('\r\n\r\n', body.indexOf('traces.jsonl')) + 4;
  const end = body.lastIndexOf('\r\n--');
  const part = body.subarray(start, end);
  return part[0] === 0x1f && part[1] === 0x8b ? gunzipSync(part).length : part.length;
}

createServer((request, response) => {
  if (request.url === '/counts') {
    response.end(JSON.stringify(counts));
    return;
  }
  const parts = [];
  request.on('data', (part) => {
    if (look === 'look') parts.push(part);
  });
  request.on('end', () => {
    counts.requests += 1;
    if (parts.length > 0) counts.lineBytes += lineBytesOf(Buffer.concat(parts));
    const id = String(request.headers['idempotency-key']).slice('sha256:'.length);
    setTimeout(() => {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ upload_id: id, status: 'committed' }));
    }, Number(delayMs));
  });
}).listen(0, '127.0.0.1', function listening() {
  console.log(`http://127.0.0.1:${this.address().port}`);
});
