// The player on the leaderboard page.

import { readFilm } from "./data.js";
import { Player } from "./player.js";
import { showGames } from "../../../../selfplay/report/leaderboard_page/view/main.js";

const player = new Player(document.getElementById("player"));
showGames((text) => player.open(readFilm(text)));
