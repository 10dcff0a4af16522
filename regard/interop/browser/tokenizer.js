// Text ↔ ids, for every kind of tokenizer. Ids 0, 1, 2 are <pad>, <s>, </s>; then come 256 bytes (or their letters).
// What the vocabulary lacks is spelled in bytes, so that every text comes back exactly.

export const PAD = 0;
export const BOS = 1;
export const EOS = 2;
const SPECIALS = ["<pad>", "<s>", "</s>"];
const BYTES = SPECIALS.length; // the id of byte 0, where bytes are entries
const AS_WRITTEN = BYTES + 0xff; // begins a text whose letters could not be put together again from their parts

// Unicode's white space, as the training's regular expressions have it
const SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const IDEOGRAPH = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]";
const LETTERS = `(?:(?!${IDEOGRAPH})[\\p{L}\\p{M}])+`;
const SPLITTERS = {
  word: new RegExp(` ?\\p{N}+| ?${IDEOGRAPH}| ?${LETTERS}| ?[^${SPACE}\\p{L}\\p{M}\\p{N}]|[${SPACE}]`, "gu"),
  symbol: /[ ;+|]?[^ ;+|]+|[ ;+|]/gu,
  bytes: new RegExp(
    `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`,
    "gu",
  ),
};

// content: { kind, pieces, merges, scores, symbols }; merges of bpe and scores of unigram alone; symbols: names of the
// entries after all others, which stand for placeholders in masked texts: here no text has them, and none is written
export function makeTokenizer(content) {
  const ids = new Map(content.pieces.map((piece, id) => [piece, id]));
  const level = content.kind === "bpe" || content.kind === "unigram";
  const segment = level ? levelSegment(content, ids) : spelledSegment(content.kind, ids);
  const names = new Map();
  const texts = content.pieces.length; // entries that are text
  return { kind: content.kind, texts, encode, decode, tokens };

  function encode(text) {
    if (content.kind !== "decomposed") return segment(text);
    const parts = text.normalize("NFD");
    return parts.normalize("NFC") === text ? segment(parts) : [AS_WRITTEN, ...segment(text)];
  }

  // The text; special ids are dropped, bytes that are not UTF-8 become U+FFFD
  function decode(all) {
    const plain = all.filter((id) => id >= SPECIALS.length && id < texts);
    if (level) return textOf(plain.flatMap(bytesOf));
    if (content.kind === "symbol") return spelled(plain).replace(/^ /, "");
    if (content.kind !== "decomposed") return spelled(plain);
    return plain[0] === AS_WRITTEN ? spelled(plain.slice(1)) : spelled(plain).normalize("NFC");
  }

  // Bytes that are no text alone become one U+FFFD each.
  function spelled(all) {
    const parts = [];
    let bytes = [];
    const flush = () => {
      parts.push(readable(bytes) ?? "\ufffd".repeat(bytes.length));
      bytes = [];
    };
    for (const id of all) {
      if (id < BYTES + 256) bytes.push(id - BYTES);
      else {
        flush();
        parts.push(content.pieces[id]);
      }
    }
    flush();
    return parts.join("");
  }

  // One readable piece an id: its text, or its bytes as <0xE2>
  function tokens(all) {
    return all.map((id) => {
      if (!names.has(id)) names.set(id, nameOf(id));
      return names.get(id);
    });
  }

  function nameOf(id) {
    if (id < SPECIALS.length) return SPECIALS[id];
    return id < texts ? shown(bytesOf(id)) : content.symbols[id - texts];
  }

  function bytesOf(id) {
    if (level) return [...content.pieces[id]].map((letter) => LEVEL_BYTES.get(letter));
    return id < BYTES + 256 ? [id - BYTES] : [...new TextEncoder().encode(content.pieces[id])];
  }
}

function shown(bytes) {
  return readable(bytes) ?? bytes.map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
}

function readable(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

function textOf(bytes) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

// Characters, words and symbols: a piece that is known is one token, others are spelled by characters, then by bytes.
function spelledSegment(kind, ids) {
  const spell = (piece) =>
    [...piece].flatMap(
      (letter) => ids.get(letter) ?? [...new TextEncoder().encode(letter)].map((byte) => BYTES + byte),
    );
  if (!(kind in SPLITTERS)) return spell;
  return (text) => {
    const pieces = (kind === "symbol" && text ? ` ${text}` : text).match(SPLITTERS[kind]) ?? [];
    return pieces.flatMap((piece) => ids.get(piece) ?? spell(piece));
  };
}

// Byte-level BPE and unigram: each word as letters that stand for bytes
function levelSegment({ merges, scores }, ids) {
  const ranks = merges && new Map(merges.map((pair, rank) => [pair.join(" "), rank]));
  const longest = scores && Math.max(...[...ids.keys()].map((piece) => [...piece].length));
  return (text) =>
    (text.match(SPLITTERS.bytes) ?? []).flatMap((word) => {
      const letters = [...new TextEncoder().encode(word)].map((byte) => BYTE_LETTERS[byte]);
      const pieces = ranks ? merged(letters, ranks) : mostProbable(letters, ids, scores, longest);
      return pieces.map((piece) => ids.get(piece));
    });
}

// The pair that was learned first is merged, everywhere, until none is left (Sennrich 2016).
function merged(letters, ranks) {
  let pieces = letters;
  for (;;) {
    let best = Infinity;
    for (let i = 0; i + 1 < pieces.length; i += 1) {
      best = Math.min(best, ranks.get(`${pieces[i]} ${pieces[i + 1]}`) ?? Infinity);
    }
    if (best === Infinity) return pieces;
    const after = [];
    for (let i = 0; i < pieces.length; i += 1) {
      const fits = i + 1 < pieces.length && ranks.get(`${pieces[i]} ${pieces[i + 1]}`) === best;
      after.push(fits ? pieces[i] + pieces[i + 1] : pieces[i]);
      if (fits) i += 1;
    }
    pieces = after;
  }
}

// The segmentation whose sum of log-probabilities is highest (Kudo 2018); of equal ones that with the longer last piece
function mostProbable(letters, ids, scores, longest) {
  const best = [{ score: 0, from: 0 }];
  for (let end = 1; end <= letters.length; end += 1) {
    best[end] = { score: -Infinity, from: end - 1 };
    for (let from = Math.max(0, end - longest); from < end; from += 1) {
      const id = ids.get(letters.slice(from, end).join(""));
      if (id === undefined) continue;
      const score = best[from].score + scores[id];
      if (score > best[end].score) best[end] = { score, from };
    }
  }
  const pieces = [];
  for (let end = letters.length; end > 0; end = best[end].from)
    pieces.unshift(letters.slice(best[end].from, end).join(""));
  return pieces;
}

// The letter for each byte: printable Latin-1 stands for itself, the rest follows from U+0100.
const BYTE_LETTERS = byteLetters();
const LEVEL_BYTES = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte]));

function byteLetters() {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte < 0xad) || byte > 0xad;
    return String.fromCharCode(printable ? byte : next++);
  });
}
