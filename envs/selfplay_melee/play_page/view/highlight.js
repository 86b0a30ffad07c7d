// The moment of a finished film that a result opens with, and that its clip shows.

export const CLIP_S = 6;
const BEFORE_S = 4; // of a clip, before what happens
const CREDIT_S = 4; // a stock is taken, not thrown away, if its owner was hit within this time

/** The first frame of the best six seconds: around the last stock that was taken, else around the largest combo. */
export function bestMoment(film) {
  const { fps, length } = film, at = lastKo(film) ?? largestCombo(film);
  if (at === null) return 0;
  return Math.max(Math.min(at - BEFORE_S * fps, length - CLIP_S * fps), 0);
}

function lastKo({ losses, percent, fps }) {
  const taken = ([t, seat]) => {
    for (let m = Math.max(t - CREDIT_S * fps, 1); m < t; m++) {
      if (percent[2 * m + seat] > percent[2 * (m - 1) + seat]) return true;
    }
    return false;
  };
  return losses.findLast(taken)?.[0] ?? null;
}

/** The moment with the most damage of a combo that is shown; null without one. */
function largestCombo({ dealt }) {
  let best = null, most = 0;
  for (const [i, damage] of dealt.entries()) if (damage > most) [best, most] = [i >> 1, damage];
  return best;
}
