/** A number that a row needs, in an object that is used again for every record. */
import type { PythonNumber } from './exact-sum.js';

export class NumberFact implements PythonNumber {
  /** False: absent, null or no number. The other fields then mean nothing. */
  isPresent = false;
  value = 0;
  isInt = true;
  big: bigint | null = null;

  set(number: PythonNumber): void {
    this.setTo(number.value, number.isInt, number.big);
  }

  setTo(value: number, isInt: boolean, big: bigint | null): void {
    this.isPresent = true;
    this.value = value;
    this.isInt = isInt;
    this.big = big;
  }

  clear(): void {
    this.isPresent = false;
    this.big = null;
  }
}
