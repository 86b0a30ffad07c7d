// The rating of the person at the page, fitted as selfplay/league rates people: Bradley-Terry with the ratings of all
// opponents fixed. Runs in node too.

const STEPS = 200, LONGEST = 4, SHORT = 0.1, STILL = 1e-7; // of the search in selfplay/league/bradley_terry.py

/**
 * Rating, standard error and 95% interval of a player. An end of the interval is null where no point was lost or won.
 *
 * games: { opponent, elo, score } of each; games with the same opponent and elo are one pair of players. facts: `fit`
 * of the page.
 */
export function fitRating(games, facts) {
  const { origin, step, z } = facts, groups = grouped(games, facts), fit = new Likelihood(groups, facts);
  const strength = fit.climb(fit.climb(0, 0), facts.upsets), elo = origin + step * strength;
  const se = step * standardError(strength, groups, facts), points = games.reduce((sum, { score }) => sum + score, 0);
  return { elo, se, low: points > 0 ? elo - z * se : null, high: points < games.length ? elo + z * se : null };
}

/** Expected score of a player rated `elo` against one rated `other`. */
export function expectedScore(elo, other, { step, upsets }) {
  return scoreOfGap((elo - other) / step, upsets);
}

/** By opponent and its rating: `strength`, scores and their sum. */
function grouped(games, { origin, step }) {
  const groups = new Map();
  for (const { opponent, elo, score } of games) {
    const key = `${elo} ${opponent}`;
    const group = groups.get(key) ?? { strength: (elo - origin) / step, scores: [], won: 0 };
    group.scores.push(score);
    group.won += score;
    groups.set(key, group);
  }
  return Array.from(groups.values());
}

const lead = (gap) => Math.tanh(0.5 * gap);
const scoreOfGap = (gap, upsets) => 0.5 + 0.5 * (1 - upsets) * lead(gap);
const logistic = (gap) => -Math.max(-gap, 0) - Math.log1p(Math.exp(-Math.abs(gap))); // logarithm of the score

function pull(gap, upsets) {
  const kept = 1 - upsets;
  return upsets ? (kept * (1 - lead(gap) ** 2)) / (1 - (kept * lead(gap)) ** 2) : 1;
}

const information = (gap, upsets) => 0.25 * (1 - upsets) * (1 - lead(gap) ** 2) * pull(gap, upsets);

class Likelihood {
  constructor(groups, { draws }) {
    Object.assign(this, { groups, draws });
  }

  /** Logarithm of the likelihood; the prior is of draws with the player of strength 0, without upsets. */
  at(strength, upsets) {
    const share = (gap) => (upsets ? Math.log(scoreOfGap(gap, upsets)) : logistic(gap));
    return this.groups.reduce((sum, { strength: other, scores, won }) => {
      const gap = strength - other;
      return sum + won * share(gap) + (scores.length - won) * share(-gap);
    }, 0.5 * this.draws * (logistic(strength) + logistic(-strength)));
  }

  /** The maximum on whose slope a strength is: Newton's method with step halving, as `_climb` in Python. */
  climb(start, upsets) {
    let strength = start, value = this.at(start, upsets);
    for (let n = 0; n < STEPS; n++) {
      let step = this.#step(strength, upsets);
      if (Math.abs(step) <= STILL) return strength + step;
      step *= Math.min(1, LONGEST / Math.abs(step));
      let better = this.at(strength + step, upsets);
      while (better < value - 1e-12 * Math.abs(value)) better = this.at(strength + (step /= 2), upsets);
      strength += step;
      value = better;
    }
    return strength;
  }

  #step(strength, upsets) {
    let slope = this.draws * (0.5 - scoreOfGap(strength, 0)), concave = true;
    const prior = this.draws * information(strength, 0);
    let sure = prior, observed = prior;
    for (const { strength: other, scores, won } of this.groups) {
      const gap = strength - other, expected = scoreOfGap(gap, upsets), factor = pull(gap, upsets);
      const surprise = won - scores.length * expected, told = scores.length * information(gap, upsets);
      // The derivative of the factor is factor * (factor * (2 * expected - 1) - tanh).
      const curvature = told - surprise * factor * (factor * (2 * expected - 1) - lead(gap));
      slope += surprise * factor;
      sure += curvature > 0 ? curvature : told;
      observed += curvature;
      concave &&= curvature > 0;
    }
    const step = slope / sure;
    return Math.abs(step) > SHORT || concave ? step : shortStep(step, slope, observed);
  }
}

/** With the observed curvature, where that is a short step too; from a minimum a step up. */
function shortStep(step, slope, observed) {
  if (observed <= 0) return Math.abs(step) > STILL || observed === 0 ? step : SHORT;
  return Math.abs(slope / observed) <= SHORT ? slope / observed : step;
}

/** The robust one of `robust_covariance` in Python; each game is a cluster of its own, since each has its own seed. */
function standardError(strength, groups, { draws, upsets, pseudo, ridge }) {
  const prior = draws * information(strength, 0);
  const pairs = groups.map(({ strength: other, scores }) => {
    const gap = strength - other, expected = scoreOfGap(gap, upsets), count = scores.length;
    return {
      told: count * information(gap, upsets), model: count * expected * (1 - expected), count,
      squares: scores.reduce((sum, score) => sum + (score - expected) ** 2, 0),
    };
  });
  const sum = (name) => pairs.reduce((total, pair) => total + pair[name], 0);
  const inverse = 1 / (sum("told") + prior + ridge);
  for (const pair of pairs) pair.squares /= 1 - Math.min((pair.told * inverse) / pair.count, 0.75);
  const overall = (sum("squares") + pseudo) / (sum("model") + pseudo);
  const meat = pairs.reduce(
    (total, { told, model, squares }) => total + (told * (squares + pseudo * overall)) / (model + pseudo), prior,
  );
  return inverse * Math.sqrt(meat);
}
