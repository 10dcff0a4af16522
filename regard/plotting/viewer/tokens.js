// Tokens as they are shown: white space and control characters visible, marks as marks.

const MARKS = new Map([
  ["<s>", "start"],
  ["</s>", "end"],
  ["<pad>", "padding"],
]);
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

export function isMark(token) {
  return MARKS.has(token);
}

// The label of a token on its own: of a map, a list or a tree.
export function visible(token) {
  if (isMark(token)) return `‹${MARKS.get(token)}›`;
  const text = plainly(token).replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  return text.trim() || text.replace(/ /g, "␣") || "∅";
}

// Characters that would be invisible, or turn the text around them, by their number.
export function plainly(text) {
  return text.replace(CONTROLS, (character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
}

export function percent(probability) {
  if (probability >= 0.9995) return "100 %";
  return probability < 0.001 ? "< 0.1 %" : `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;
}

// Which tokens are not in the longest common subsequence with those before.
export function changedFrom(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const same = before[i] === after[j];
      common[i][j] = same ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const changed = new Set(after.keys());
  for (let i = 0, j = 0; i < before.length && j < after.length;) {
    if (before[i] === after[j]) {
      changed.delete(j);
      i += 1;
      j += 1;
    } else if (common[i + 1][j] >= common[i][j + 1]) i += 1;
    else j += 1;
  }
  return changed;
}
