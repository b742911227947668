/** Why a value has no JSON text: the path to what cannot be represented, and what it is. */
import { messageOf, PrlError } from '../errors.js';

export class EncodeError extends PrlError {
  /** From the value that was to be encoded: `traces[0].nodes[3].message.content`; empty for that value itself. */
  readonly path: string;

  constructor(path: string, reason: string, hint: string) {
    super('PRL_ERR_REJECTED', `${path === '' ? 'the value' : path} cannot be written as JSON: ${reason}`, { hint });
    this.path = path;
  }
}

/**
 * Why a record is refused, by what was thrown while it was written; null when that is no fault of the record, as a full
 * disk. What an object throws while it is read is a fault of that object.
 */
export function refusalOf(error: unknown): EncodeError | null {
  if (error instanceof EncodeError) return error;
  if (error instanceof PrlError) return null;
  const message = `reading it failed with ${messageOf(error)}`;
  return new EncodeError('', message, 'log plain data, without getters that throw');
}

/** A step of a path: the name of a member, or the position of an element. */
export type PathStep = string | number;

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** Steps of a path that are shown from each end; what lies deeper is seldom read by anybody. */
const SHOWN_STEPS = 12;

/** Characters of a name that are shown. */
const SHOWN_CHARACTERS = 64;

/** `traces[0].nodes[3]["odd name"]`; the middle of a long path is left out. */
export function pathText(steps: readonly PathStep[]): string {
  if (steps.length <= 2 * SHOWN_STEPS) return joined(steps);
  const left = steps.length - 2 * SHOWN_STEPS;
  return `${joined(steps.slice(0, SHOWN_STEPS))}…(${left} more)…${joined(steps.slice(-SHOWN_STEPS))}`;
}

function joined(steps: readonly PathStep[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (PLAIN_NAME.test(step) && step.length <= SHOWN_CHARACTERS) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, SHOWN_CHARACTERS))}]`;
  }
  return text;
}
