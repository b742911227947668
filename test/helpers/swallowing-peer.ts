/**
 * A peer that swallows packets, as a firewall that drops them does: a process listens on loopback, accepts nothing, and
 * its queue of connections is full, so that the kernel answers no further attempt to connect.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

const LISTENER = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    process.stdout.write(server.address().port + '\\n', wait);
  });
`;
/** A connection on loopback is there within a millisecond, or not at all. */
const CONNECT_MS = 1_000;
const MOST_QUEUED = 50;

/** Returns the URL of a port that stays silent until the end of the test. */
export async function startSwallowingPeer(): Promise<string> {
  const listener = spawn(process.execPath, ['--eval', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void listener.kill('SIGKILL'));
  const [said] = (await once(listener.stdout, 'data')) as [Buffer];
  const port = Number(said);
  for (let queued = 0; queued < MOST_QUEUED; queued += 1) {
    if (!(await isTaken(port))) return `http://127.0.0.1:${port}`;
  }
  throw new Error(`${MOST_QUEUED} connections did not fill the queue`);
}

function isTaken(port: number): Promise<boolean> {
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true));
    setTimeout(() => resolve(false), CONNECT_MS);
  });
}
