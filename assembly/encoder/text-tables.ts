/** Which bytes of a vector stay when the gaps between characters are closed. */

/** Eight lanes of two bytes: for each set of lanes that use the second one, where the bytes come from. */
export const PAIRS: usize = memory.data(256 * 16, 16);

/** Four lanes of four bytes: the low four bits are the lanes that use a second byte, the high four a third one. */
export const TRIPLES: usize = memory.data(256 * 16, 16);

for (let set = 0; set < 256; set += 1) {
  let pair = PAIRS + ((<usize>set) << 4);
  for (let lane = 0; lane < 8; lane += 1) {
    const place = lane << 1;
    store<u8>(pair, place);
    pair += 1;
    if (((set >> lane) & 1) !== 0) {
      store<u8>(pair, place + 1);
      pair += 1;
    }
  }
  let triple = TRIPLES + ((<usize>set) << 4);
  for (let lane = 0; lane < 4; lane += 1) {
    const place = lane << 2;
    store<u8>(triple, place);
    triple += 1;
    if (((set >> lane) & 1) !== 0) {
      store<u8>(triple, place + 1);
      triple += 1;
    }
    if (((set >> lane) & 16) !== 0) {
      store<u8>(triple, place + 2);
      triple += 1;
    }
  }
}

/** For each byte below 16 the letter of its short escape: \b \t \n \f \r. */
export const LETTERS: usize = memory.data<u8>([0, 0, 0, 0, 0, 0, 0, 0, 0x62, 0x74, 0x6e, 0, 0x66, 0x72, 0, 0], 16);
