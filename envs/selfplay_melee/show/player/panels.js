// Beside the picture: controllers, facts about each player, and charts over the whole fight.

// Buttons of a controller: name, label, place and radius on a field of 190 by 124, colour.
const BUTTONS = [
  ["A", "A", 146, 62, 13, "#2fbf71"], ["B", "B", 122, 75, 8, "#e8544a"], ["X", "X", 171, 58, 8.5, "#98a0be"],
  ["Y", "Y", 141, 38, 8.5, "#98a0be"],
  ["Z", "Z", 171, 32, 7, "#9a6bff"], ["D_UP", "▲", 66, 98, 7, "#98a0be"],
];

export class Pad {
  constructor(canvas, film, seat) {
    Object.assign(this, { canvas, film, seat, ctx: canvas.getContext("2d") });
  }

  draw(t, colour) {
    const { ctx, canvas, film } = this, i = 2 * t + this.seat, pressed = film.shoulder[i] / film.units.shoulder;
    const held = (name) => film.buttons[i] & (1 << film.button_names.indexOf(name));
    ctx.setTransform(canvas.width / 190, 0, 0, canvas.height / 124, 0, 0);
    ctx.clearRect(0, 0, 190, 124);
    ctx.font = "600 10px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    this.trigger(8, "L", held("L"), pressed, colour);
    this.trigger(128, "R", held("R"), pressed, colour);
    this.stick(38, 58, 26, film.main_x[i], film.main_y[i], colour("text"), colour);
    this.stick(112, 102, 17, film.c_x[i], film.c_y[i], "#e5b800", colour);
    for (const [name, label, x, y, radius, shade] of BUTTONS) {
      const down = held(name);
      ctx.beginPath();
      ctx.arc(x, y, radius, 0, 2 * Math.PI);
      ctx.fillStyle = down ? shade : colour("page");
      ctx.strokeStyle = down ? shade : colour("line");
      ctx.lineWidth = 1.5;
      ctx.fill();
      ctx.stroke();
      ctx.fillStyle = down ? colour("page") : colour("muted");
      ctx.fillText(label, x, y + 0.5);
    }
  }

  trigger(x, label, down, pressed, colour) {
    const { ctx } = this;
    ctx.fillStyle = colour("page");
    ctx.strokeStyle = colour("line");
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.roundRect(x, 4, 54, 13, 6);
    ctx.fill();
    ctx.stroke();
    if (down || pressed > 0) {
      ctx.fillStyle = colour("accent");
      ctx.globalAlpha = down ? 1 : 0.55;
      ctx.beginPath();
      ctx.roundRect(x, 4, Math.max(12, 54 * (down ? 1 : pressed)), 13, 6);
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = down ? colour("page") : colour("muted");
    ctx.fillText(label, x + 27, 11);
  }

  stick(x, y, radius, dx, dy, shade, colour) {
    const { ctx } = this, reach = radius / this.film.units.axis;
    ctx.beginPath();
    for (let corner = 0; corner < 8; corner++) {
      ctx.lineTo(x + radius * Math.cos((corner * Math.PI) / 4), y + radius * Math.sin((corner * Math.PI) / 4));
    }
    ctx.closePath();
    ctx.fillStyle = colour("page");
    ctx.strokeStyle = colour("line");
    ctx.lineWidth = 1.5;
    ctx.fill();
    ctx.stroke();
    ctx.strokeStyle = ctx.fillStyle = dx || dy ? shade : colour("muted");
    ctx.lineWidth = 3;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + dx * reach, y - dy * reach);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x + dx * reach, y - dy * reach, 0.3 * radius, 0, 2 * Math.PI);
    ctx.fill();
  }
}

// Two curves over the whole fight, drawn once and then shown again with the place of the moment.
export class Chart {
  constructor(canvas, film, value, low, high) {
    Object.assign(this, {
      canvas, film, value, low, high, ctx: canvas.getContext("2d"), drawn: document.createElement("canvas"),
    });
  }

  recolour(colour) {
    this.colour = colour;
    this.drawn.width = this.canvas.width;
    this.drawn.height = this.canvas.height;
    const ctx = this.drawn.getContext("2d"), density = window.devicePixelRatio || 1;
    if (this.low < 0) {
      ctx.strokeStyle = colour("line");
      ctx.lineWidth = density;
      ctx.beginPath();
      ctx.moveTo(0, this.y(0));
      ctx.lineTo(this.canvas.width, this.y(0));
      ctx.stroke();
    }
    for (const seat of [0, 1]) this.curve(ctx, seat, 1.6 * density);
    ctx.font = `700 ${12 * density}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    for (const [frame, seat] of this.low < 0 ? [] : this.film.losses) {
      ctx.fillStyle = colour(`seat-${seat}`);
      ctx.fillText(
        "✕", Math.min(Math.max(this.x(frame), 6 * density), this.canvas.width - 6 * density),
        (14 + 12 * seat) * density,
      );
    }
  }

  x(frame) {
    return (frame / Math.max(this.film.length - 1, 1)) * this.canvas.width;
  }

  y(value) {
    return this.canvas.height * (0.94 - (0.86 * (value - this.low)) / (this.high - this.low || 1));
  }

  curve(ctx, seat, width) {
    const { film } = this, points = Math.min(film.length, 4 * this.canvas.width);
    ctx.strokeStyle = this.colour(`seat-${seat}`);
    ctx.lineWidth = width;
    ctx.lineJoin = "round";
    ctx.beginPath();
    let drawing = false;
    for (let p = 0; p < points; p++) {
      const frame = Math.round((p / Math.max(points - 1, 1)) * (film.length - 1));
      const value = this.value(film.moments[frame], seat);
      if (Number.isFinite(value)) {
        drawing ? ctx.lineTo(this.x(frame), this.y(value)) : ctx.moveTo(this.x(frame), this.y(value));
      }
      drawing = Number.isFinite(value);
    }
    ctx.stroke();
  }

  draw(frame) {
    const { ctx, canvas } = this, x = this.x(frame), density = window.devicePixelRatio || 1;
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = this.colour("accent");
    ctx.globalAlpha = 0.08;
    ctx.fillRect(0, 0, x, canvas.height);
    ctx.globalAlpha = 1;
    ctx.drawImage(this.drawn, 0, 0);
    ctx.fillRect(Math.min(x, canvas.width - 2 * density), 0, 2 * density, canvas.height);
  }
}

export function facts(film, t, seat) {
  const i = 2 * t + seat, rows = [
    ["Character", film.looks[film.look[i]].name],
    ["Stocks", `${film.stocks[i]}`],
    ["Action", film.actions[film.action[i]]],
    ["Frame", `${film.action_frame[i]}`],
  ];
  if (film.values) rows.push(["Value", Number.isFinite(film.values[i]) ? film.values[i].toFixed(2) : "–"]);
  return rows;
}
