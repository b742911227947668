/** `prl serve` in a process of its own that is killed and started again, behind a link that cuts connections. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Bytes of a connection after which it is cut, when it is cut. */
const LONGEST_CUT = 150_000;

export class Service {
  #command;
  #child = null;
  /** Of `prl serve`; the proxy before it keeps its own. */
  #port = 0;
  #proxy;
  #sockets = new Set();
  #cuts;
  #random;
  counts = { restarts: 0, resets: 0 };

  /** @param cuts share of connections that are reset at a random byte, 0 to 1 */
  constructor({ prl, data, faults, cuts, random }) {
    this.#command = [prl, 'serve', '--data', data, ...faults.flatMap((fault) => ['--fault', fault])];
    this.#cuts = cuts;
    this.#random = random;
    this.#proxy = createServer((socket) => this.#pass(socket));
  }

  async start() {
    this.#proxy.listen(0, '127.0.0.1');
    await once(this.#proxy, 'listening');
    this.url = `http://127.0.0.1:${this.#proxy.address().port}`;
    await this.#spawn();
  }

  /** SIGKILL, a pause, and the same data once more. */
  async restart(pauseMs) {
    await this.#kill();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await this.#spawn();
    this.counts.restarts += 1;
  }

  /** No connection is cut any more. */
  calm() {
    this.#cuts = 0;
  }

  async stop() {
    await this.#kill();
    for (const socket of this.#sockets) socket.destroy();
    this.#proxy.close();
  }

  async #spawn() {
    const child = spawn(process.execPath, [...this.#command, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const errors = [];
    child.stderr.on('data', (part) => errors.push(part));
    let text = '';
    child.stdout.on('data', (part) => {
      text += part;
    });
    this.#child = child;
    while (!text.includes('\n')) {
      if (child.exitCode !== null)
        throw new Error(`the service ended with ${child.exitCode}: ${Buffer.concat(errors)}`);
      await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    }
    this.#port = Number(/:(\d+)\s*$/m.exec(text)[1]);
  }

  async #kill() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  #pass(socket) {
    const onward = connect(this.#port, '127.0.0.1');
    let leftBytes =
      this.#random() < this.#cuts ? Math.floor(this.#random() ** 2 * LONGEST_CUT) : Number.POSITIVE_INFINITY;
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ]) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    socket.on('data', (part) => {
      leftBytes -= part.length;
      if (leftBytes >= 0) return;
      this.counts.resets += 1;
      onward.destroy();
      socket.resetAndDestroy();
    });
    socket.pipe(onward);
    onward.pipe(socket);
  }
}
