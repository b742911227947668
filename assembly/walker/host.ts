/** What the host supplies. A function that throws leaves the walker unusable until the next `reset`. */

/** Writes up to `length` of the next bytes to `address`; returns how many, 0 at the end of the bytes. */
export declare function pull(address: usize, length: usize): usize;

/** Takes the entries of a record that is longer than the tape or the arena. */
export declare function take(entries: i32): void;
