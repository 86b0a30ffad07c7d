// Write what slippi-js reads of a .slp file as binary: a line of JSON, then rows of 64-bit floats (NaN: nothing there).
const fs = require("fs");
const { SlippiGame } = require("@slippi/slippi-js/node");

const PRE = [
  "seed", "actionStateId", "positionX", "positionY", "facingDirection", "joystickX", "joystickY", "cStickX", "cStickY",
  "trigger", "buttons", "physicalButtons", "physicalLTrigger", "physicalRTrigger", "rawJoystickX", "percent",
];
const POST = [
  "internalCharacterId", "actionStateId", "positionX", "positionY", "facingDirection", "percent", "shieldSize",
  "lastAttackLanded", "currentComboCount", "lastHitBy", "stocksRemaining", "actionStateCounter", "miscActionState",
  "isAirborne", "lastGroundId", "jumpsRemaining", "lCancelStatus", "hurtboxCollisionState", "hitlagRemaining",
  "animationIndex", "instanceHitBy", "instanceId",
];
const SPEEDS = ["airX", "y", "attackX", "attackY", "groundX"];
const ITEM = [
  "typeId", "state", "facingDirection", "velocityX", "velocityY", "positionX", "positionY", "damageTaken",
  "expirationTimer", "spawnId", "missileType", "turnipFace", "chargeShotLaunched", "chargePower", "owner", "instanceId",
];

const number = (value) => (value === null || value === undefined ? NaN : Number(value));
const game = new SlippiGame(process.argv[2]);
const settings = game.getSettings();
const frames = game.getFrames();
const players = [];
const items = [];
for (const key of Object.keys(frames).map(Number).sort((a, b) => a - b)) {
  const frame = frames[key];
  for (const { playerIndex } of settings.players) {
    const { pre, post } = frame.players[playerIndex] ?? {};
    if (!pre || !post) continue;
    const speeds = post.selfInducedSpeeds ?? {};
    players.push(
      key, playerIndex, ...PRE.map((name) => number(pre[name])), ...POST.map((name) => number(post[name])),
      ...SPEEDS.map((name) => number(speeds[name])), number(frame.start?.seed), number(frame.start?.sceneFrameCounter),
    );
  }
  for (const item of frame.items ?? []) items.push(key, ...ITEM.map((name) => number(item[name])));
}
const columns = (prefix, names) => names.map((name) => `${prefix}.${name}`);
const header = {
  version: settings.slpVersion,
  stage: settings.stageId,
  players: settings.players.map((p) => ({ port: p.playerIndex, character: p.characterId, costume: p.characterColor,
    type: p.type, name: p.displayName || p.nametag })),
  end: game.getGameEnd() ?? null,
  metadata: game.getMetadata() ?? null,
  playerColumns: ["frame", "port", ...columns("pre", PRE), ...columns("post", POST), ...columns("speed", SPEEDS),
    "start.seed", "start.sceneFrameCounter"],
  itemColumns: ["frame", ...ITEM],
  playerRows: players.length / (2 + PRE.length + POST.length + SPEEDS.length + 2),
};
fs.writeFileSync(process.argv[3], Buffer.concat([
  Buffer.from(JSON.stringify(header) + "\n"),
  Buffer.from(new Float64Array(players).buffer),
  Buffer.from(new Float64Array(items).buffer),
]));
