import { readFilm } from "./data.js";
import { element, Player } from "./player.js";

new Player(document).open(readFilm(element("film").textContent));
