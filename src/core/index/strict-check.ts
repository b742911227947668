/** The strict check beside a walk: the findings of the validator, handed out line by line as the walker gets there. */
import { describeFinding, FINDING, type Finding, isFault, type StreamValidator } from '../scan/stream-validator.js';
import type { LineChecker, OddityKind, RowFault } from './segment-types.js';

const ODDITIES: Readonly<Partial<Record<Finding['code'], OddityKind>>> = {
  [FINDING.NON_FINITE]: 'non_finite',
  [FINDING.LONE_SURROGATE]: 'lone_surrogate',
  [FINDING.DEEP_NESTING]: 'deep_nesting',
};

export class StrictCheck implements LineChecker {
  readonly #validator: StreamValidator;
  /** In order; those before `#next` are settled. */
  #findings: Finding[] = [];
  #next = 0;

  constructor(validator: StreamValidator) {
    this.#validator = validator;
  }

  reset(offset: number): void {
    this.#validator.reset(offset);
    this.#validator.takeFindings();
    this.#findings = [];
    this.#next = 0;
  }

  feed(bytes: Uint8Array): void {
    this.#validator.feed(bytes);
    this.#collect();
  }

  end(): void {
    this.#validator.end();
    this.#collect();
  }

  verdict(start: number): ReturnType<LineChecker['verdict']> {
    const oddities: OddityKind[] = [];
    let fault: RowFault | null = null;
    for (; this.#next < this.#findings.length; this.#next += 1) {
      const finding = this.#findings[this.#next] as Finding;
      if (finding.lineStart > start) break;
      if (finding.lineStart < start) continue;
      const oddity = ODDITIES[finding.code];
      if (oddity !== undefined) oddities.push(oddity);
      if (!isFault(finding.code)) continue;
      fault ??= faultOf(finding);
    }
    return { fault, oddities };
  }

  #collect(): void {
    const found = this.#validator.takeFindings();
    if (found.length === 0) return;
    this.#findings = [...this.#findings.slice(this.#next), ...found];
    this.#next = 0;
  }
}

/** In the words of core/scan/classify, so that the same damage reads the same everywhere. */
function faultOf({ code, offset }: Finding): RowFault {
  const what = describeFinding(code);
  if (code === FINDING.NOT_UTF8) return { kind: 'invalid_utf8', reason: `${what} at byte ${offset}` };
  return { kind: 'invalid_json', reason: `${what}, at byte ${offset}` };
}
