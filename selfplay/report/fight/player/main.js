new Player(document).open(readFilm(element("film").textContent));
