/** Services in simulated time, under a producer that always has another request: how many it keeps in flight, and when. */
import { AdaptiveLimit, type AdaptiveLimitOptions, type RequestEnd } from '../../src/core/upload/adaptive-limit.js';

/** What a service makes of a request among the others in flight. */
export type SimulatedService = {
  /** Work of a request alone, ms; `random` is 0 to 1. */
  readonly workMs: (bytes: number, random: () => number) => number;
  /** Share of full speed that each of `inFlight` requests gets. */
  readonly speed: (inFlight: number) => number;
  /** So many are worked on at once and the others wait in line; left out: all of them share. */
  readonly places?: number;
  /** How a request that starts beside `inFlight - 1` others ends; a refusal takes 5 ms. Default `answered`. */
  readonly end?: (inFlight: number, nowMs: number) => RequestEnd;
};

export type SimulationOptions = AdaptiveLimitOptions & {
  readonly service: SimulatedService;
  readonly random: () => number;
  readonly requests: number;
  readonly bytes?: (random: () => number) => number;
  /** At most so many are ever there to be sent; what a budget or compression allows. */
  readonly supply?: number;
};

export type Simulation = {
  readonly endMs: number;
  /** The limit after each request that ended, in order. */
  readonly limits: readonly number[];
  readonly ends: readonly RequestEnd[];
  /** Bytes of answered requests. */
  readonly answeredBytes: number;
};

type Job = { readonly startMs: number; readonly bytes: number; readonly end: RequestEnd; leftMs: number };

export function simulate(options: SimulationOptions): Simulation {
  const { service, random, requests, supply = Number.POSITIVE_INFINITY, bytes: bytesOf = () => 30_000_000 } = options;
  const limit = new AdaptiveLimit(options);
  const jobs: Job[] = [];
  const limits: number[] = [];
  const ends: RequestEnd[] = [];
  let nowMs = 0;
  let started = 0;
  let answeredBytes = 0;
  while (ends.length < requests) {
    while (started < requests && jobs.length < Math.min(limit.limit, supply)) {
      started += 1;
      limit.started();
      const bytes = bytesOf(random);
      const end = service.end?.(jobs.length + 1, nowMs) ?? 'answered';
      jobs.push({ startMs: nowMs, bytes, end, leftMs: end === 'answered' ? service.workMs(bytes, random) : 5 });
    }
    const served = jobs.slice(0, service.places ?? jobs.length);
    const speed = service.speed(served.length);
    const next = served.reduce((soonest, job) => (job.leftMs < soonest.leftMs ? job : soonest));
    const stepMs = next.leftMs / speed;
    nowMs += stepMs;
    for (const job of served) job.leftMs -= stepMs * speed;
    jobs.splice(jobs.indexOf(next), 1);
    if (next.end === 'answered') answeredBytes += next.bytes;
    limit.ended({ end: next.end, nowMs, latencyMs: nowMs - next.startMs, bytes: next.bytes });
    ends.push(next.end);
    limits.push(limit.limit);
  }
  return { endMs: nowMs, limits, ends, answeredBytes };
}

/** Middle of the values. */
export function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
