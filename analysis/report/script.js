// Makes line charts of a report zoomable and its tables sortable, and opens its sections on a wide screen. Without it
// the pictures beside the data stay as they are.
// Drag: zoom. Double click, Escape: all. Arrows: read values; with Shift: move. + and -: zoom.
(function () {
  'use strict';
  var N_COLOURS = 8, WIDE_PX = 900, MOST_POINTS = 60, NEAR_PX = 4;
  var STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
    432000, 864000, 1728000, 4320000, 8640000];
  var groups = {}, shared = document.getElementById('events'), allEvents = shared ? JSON.parse(shared.textContent) : [];
  function colour(i) { return 'var(--c' + (i % N_COLOURS + 1) + ')'; }
  function plain(value, digits) {
    var size = Math.abs(value);
    if (size === 0) return '0';
    if (size >= 1e7 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e\+?/, 'e');
    var text = size >= 1e4 ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
    var parts = text.split('.');
    parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, ',');
    return parts.join('.');
  }
  function two(n) { return (n < 10 ? '0' : '') + n; }
  // As the labels of the pictures: 30 s, 1:30 min, 2:10 h, 1 d 12 h.
  function timeLabel(seconds) {
    var sign = seconds < 0 ? '-' : '', s = Math.abs(seconds);
    if (s < 60) return s === 0 ? '0' : sign + duration(s);
    var days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24, minutes = Math.floor(s / 60) % 60;
    var rest = Math.floor(s % 60), clock = hours + ':' + two(minutes) + (rest ? ':' + two(rest) : '');
    if (s < 3600) return sign + minutes + (rest ? ':' + two(rest) : '') + ' min';
    if (days === 0) return sign + (minutes || rest ? clock : hours) + ' h';
    return sign + days + ' d' + (minutes || rest ? ' ' + clock : hours ? ' ' + hours + ' h' : '');
  }
  function duration(s) {
    var size = Math.abs(s);
    if (size >= 60) return timeLabel(s);
    return size >= 1 || size === 0 ? plain(s, 4) + ' s' : size >= 1e-3 ? plain(s * 1e3, 4) + ' ms' : plain(s * 1e6, 4) + ' us';
  }
  function show(axis, value, exact) {
    if (value === null || value === undefined) return '-';
    if (axis.scale === 'time') return timeLabel(value);
    return exact && /\(s\)$/.test(axis.title) ? duration(value) : plain(value, 4);
  }
  function linearTicks(low, high, most, whole) {
    var raw = (high - low) / most;
    if (whole) raw = Math.max(1, raw);
    var power = Math.pow(10, Math.floor(Math.log10(raw)));
    return multiples(low, high, power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10));
  }
  function timeTicks(low, high, most) {
    for (var i = 0; i < STEPS_S.length; i++)
      if ((high - low) / STEPS_S[i] <= most) return i > 0 ? multiples(low, high, STEPS_S[i]) : linearTicks(low, high, most);
    return linearTicks(low, high, most);
  }
  function multiples(low, high, step) {
    var ticks = [];
    for (var k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  }
  function logTicks(low, high, most) {
    var from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high)), ticks = [];
    for (var step = 0; step === 0 || ticks.length > most; step++) { // 1 2 5 10 .., then 1 10 100 .., then every other power
      ticks = [];
      for (var e = from; e <= to; e += Math.max(1, step))
        (step === 0 ? [1, 2, 5] : [1]).forEach(function (f) {
          var tick = Number((f * Math.pow(10, e)).toPrecision(6));
          if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
        });
    }
    return ticks.length > 1 ? ticks : linearTicks(low, high, most);
  }
  function ticksOf(axis, range, most, whole) {
    return (axis.scale === 'log' ? logTicks : axis.scale === 'time' ? timeTicks : linearTicks)(range[0], range[1], most, whole);
  }
  function forward(axis, value) { return axis.scale === 'log' ? Math.log(value) : value; }
  function back(axis, value) { return axis.scale === 'log' ? Math.exp(value) : value; }
  function widen(axis, range) {
    if (range[0] < range[1]) return range;
    return axis.scale === 'log' ? [range[0] / 2, range[1] * 2] : [range[0] - 0.5, range[1] + 0.5];
  }
  function Chart(figure, data) {
    var still = figure.querySelector('.still svg');
    this.data = data;
    this.events = data.events ? allEvents : [];
    this.space = still.namespaceURI;
    this.cursor = null;
    this.isPositive = data.series.every(function (s) { return s.y.every(function (y) { return y === null || y >= 0; }); });
    this.isWhole = data.step && data.series.every(function (s) { return s.y.every(function (y) { return y % 1 === 0; }); });
    this.live = document.createElement('div');
    this.live.className = 'live';
    this.add(this.live, 'p', 'title', data.title);
    this.svg = document.createElementNS(this.space, 'svg');
    this.svg.setAttribute('tabindex', '0');
    this.svg.setAttribute('role', 'img');
    this.svg.setAttribute('aria-label', data.title + '. Arrow keys read values, plus and minus zoom, Escape shows all.');
    this.live.appendChild(this.svg);
    this.read = this.add(this.live, 'p', 'read', '');
    this.reset = this.add(this.live, 'button', '', 'show all');
    this.reset.type = 'button';
    figure.insertBefore(this.live, figure.firstChild);
    figure.classList.add('has-live');
    this.group = groups[data.group] = groups[data.group] || { range: null, all: null, charts: [] };
    this.group.charts.push(this);
    this.extend();
    this.listen();
  }
  Chart.prototype.add = function (parent, tag, name, text) {
    var element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    parent.appendChild(element);
    return element;
  };
  Chart.prototype.shape = function (tag, attributes, text) {
    var element = document.createElementNS(this.space, tag);
    for (var key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    this.svg.appendChild(element);
    return element;
  };

  // The group's range of x covers all of its charts.
  Chart.prototype.extend = function () {
    var all = this.group.all || [Infinity, -Infinity], axis = this.data.x;
    this.data.series.forEach(function (series) {
      series.x.forEach(function (x) {
        if (x !== null && (axis.scale !== 'log' || x > 0)) all = [Math.min(all[0], x), Math.max(all[1], x)];
      });
    });
    this.group.all = all;
  };
  Chart.prototype.yRange = function (range) {
    var axis = this.data.y, low = Infinity, high = -Infinity;
    if (axis.range) return axis.range;
    this.data.series.forEach(function (series) {
      for (var i = 0; i < series.x.length; i++) {
        var before = i > 0 && series.x[i] > range[1] && series.x[i - 1] >= range[1];
        var after = i + 1 < series.x.length && series.x[i + 1] < range[0];
        if (before || after) continue;
        [series.y[i], series.low && series.low[i], series.high && series.high[i]].forEach(function (y) {
          if (typeof y !== 'number' || (axis.scale === 'log' && y <= 0)) return;
          low = Math.min(low, y); high = Math.max(high, y);
        });
      }
    });
    this.data.lines.forEach(function (line) {
      if ('y' in line && (axis.scale !== 'log' || line.y > 0)) { low = Math.min(low, line.y); high = Math.max(high, line.y); }
    });
    if (low > high) return [0, 1];
    if (this.isPositive) low = Math.max(0, low); // intervals may reach below
    if (this.data.step) { low = Math.min(0, low); high = Math.max(0, high); }
    if (low === 0 && high === 0) return [0, 1];
    if (axis.scale === 'log') return widen(axis, [low / 1.1, high * 1.1]);
    var from = low >= 0 && low < 0.6 * high ? 0 : low - 0.05 * (high - low);
    return widen(axis, [from, high + 0.05 * (high - from)]);
  };
  Chart.prototype.place = function () {
    var range = widen(this.data.x, this.group.range || this.group.all), y = this.yRange(range);
    var small = this.data.small, width = Math.max(small ? 200 : 260, this.live.clientWidth);
    var height = small ? 150 : Math.round(Math.min(330, Math.max(230, width * 0.56)));
    var ticks = ticksOf(this.data.y, y, Math.max(3, height / 45), this.isWhole), axisY = this.data.y;
    var widest = ticks.reduce(function (n, t) { return Math.max(n, show(axisY, t).length); }, 1);
    this.box = { left: 12 + 7 * widest, right: width - 14, top: 26 + 8 * this.events.length,
      bottom: height - (small ? 22 : 40), width: width, height: height };
    this.range = { x: range, y: y };
    this.ticks = { x: ticksOf(this.data.x, range, Math.max(3, width / 90)), y: ticks };
  };

  // Which share of the way along an axis a value lies.
  function shareOf(axis, range, value) {
    var low = forward(axis, range[0]), high = forward(axis, range[1]);
    return (forward(axis, value) - low) / (high - low);
  }
  Chart.prototype.x = function (value) {
    return this.box.left + shareOf(this.data.x, this.range.x, value) * (this.box.right - this.box.left);
  };
  Chart.prototype.y = function (value) {
    return this.box.bottom - shareOf(this.data.y, this.range.y, value) * (this.box.bottom - this.box.top);
  };
  Chart.prototype.valueAt = function (pixel) {
    var axis = this.data.x, low = forward(axis, this.range.x[0]), high = forward(axis, this.range.x[1]);
    var share = (pixel - this.box.left) / (this.box.right - this.box.left);
    return back(axis, low + Math.min(1, Math.max(0, share)) * (high - low));
  };
  Chart.prototype.path = function (series) {
    var path = '', pen = false, chart = this, logY = this.data.y.scale === 'log', logX = this.data.x.scale === 'log';
    series.x.forEach(function (x, i) {
      var y = series.y[i], shown = y !== null && x !== null && !(logY && y <= 0) && !(logX && x <= 0);
      var px = shown && chart.x(x).toFixed(1), py = shown && chart.y(y).toFixed(1);
      if (shown) path += !pen ? 'M' + px + ' ' + py : chart.data.step ? 'H' + px + 'V' + py : 'L' + px + ' ' + py;
      pen = shown;
    });
    return path;
  };
  Chart.prototype.band = function (series) {
    var there = '', chart = this, points = [];
    series.x.forEach(function (x, i) {
      if (series.low[i] === null || series.high[i] === null) return;
      there += (there ? 'L' : 'M') + chart.x(x).toFixed(1) + ' ' + chart.y(series.high[i]).toFixed(1);
      points.push('L' + chart.x(x).toFixed(1) + ' ' + chart.y(series.low[i]).toFixed(1));
    });
    return there ? there + points.reverse().join('') + 'Z' : '';
  };
  Chart.prototype.frame = function () {
    var chart = this, box = this.box;
    this.ticks.y.forEach(function (tick) {
      chart.shape('line', { x1: box.left, x2: box.right, y1: chart.y(tick), y2: chart.y(tick), 'class': 'grid' });
      chart.shape('text', { x: box.left - 7, y: chart.y(tick) + 4, 'text-anchor': 'end' }, show(chart.data.y, tick));
    });
    var after = 0; // where the last label ends
    this.ticks.x.forEach(function (tick) {
      var label = show(chart.data.x, tick), half = 3.5 * label.length + 1;
      var px = Math.min(box.width - half, Math.max(half, chart.x(tick)));
      chart.shape('line', { x1: chart.x(tick), x2: chart.x(tick), y1: box.bottom, y2: box.bottom + 5, 'class': 'axis' });
      if (px - half < after) return;
      chart.shape('text', { x: px, y: box.bottom + 18, 'text-anchor': 'middle' }, label);
      after = px + half + 8;
    });
    this.shape('line', { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, 'class': 'axis' });
    this.shape('text', { x: 0, y: 12 }, this.data.y.title);
    if (!this.data.small)
      this.shape('text', { x: box.right, y: box.height - 4, 'text-anchor': 'end' }, this.data.x.title);
  };
  // Straight lines of limits, and rows of ticks of events.
  Chart.prototype.limits = function (clip) {
    var chart = this, box = this.box;
    this.data.lines.forEach(function (line) {
      var across = 'y' in line, at = across ? chart.y(line.y) : chart.x(line.x);
      chart.shape('line', { x1: across ? box.left : at, x2: across ? box.right : at, y1: across ? at : box.top,
        y2: across ? at : box.bottom, 'class': 'limit', 'clip-path': clip });
    });
    this.events.forEach(function (events, i) {
      var path = '', last = -Infinity, top = box.top - 3 - 8 * (chart.events.length - i);
      events.x.forEach(function (x) {
        var px = chart.x(x);
        if (px < box.left || px > box.right || px - last < 1) return;
        path += 'M' + px.toFixed(1) + ' ' + top + 'v6';
        last = px;
      });
      chart.shape('path', { d: path, 'class': 'event', style: 'stroke:var(--e' + (events.colour + 1) + ')' });
    });
  };
  Chart.prototype.points = function (series, style, clip) {
    var chart = this, logX = this.data.x.scale === 'log', logY = this.data.y.scale === 'log';
    series.x.forEach(function (x, i) {
      var y = series.y[i];
      if (x === null || y === null || (logX && x <= 0) || (logY && y <= 0)) return;
      chart.shape('circle', { cx: chart.x(x), cy: chart.y(y), r: 3, style: style, 'clip-path': clip });
    });
  };
  Chart.prototype.draw = function () {
    var chart = this, id = 'clip-' + charts.indexOf(this);
    this.place();
    var box = this.box;
    this.svg.textContent = '';
    this.svg.setAttribute('viewBox', '0 0 ' + box.width + ' ' + box.height);
    this.frame();
    this.shape('clipPath', { id: id }).appendChild(this.shape('rect', { x: box.left, y: box.top - 2,
      width: box.right - box.left, height: box.bottom - box.top + 4 }));
    this.data.series.forEach(function (series, i) {
      var clip = 'url(#' + id + ')';
      if (series.low)
        chart.shape('path', { d: chart.band(series), style: 'fill:' + colour(i), 'fill-opacity': 0.18, 'clip-path': clip });
      chart.shape('path', { d: chart.path(series), fill: 'none', style: 'stroke:' + colour(i), 'stroke-width': 1.7,
        'clip-path': clip, 'stroke-linejoin': 'round', 'stroke-dasharray': i >= N_COLOURS ? '7 3' : 'none' });
      if (!chart.data.step && series.x.length <= MOST_POINTS && !chart.data.small)
        chart.points(series, 'fill:' + colour(i), clip);
    });
    this.limits('url(#' + id + ')');
    this.hair = this.shape('line', { y1: box.top, y2: box.bottom, 'class': 'hair', visibility: 'hidden' });
    this.sweep = this.shape('rect', { y: box.top, height: box.bottom - box.top, 'class': 'sweep', visibility: 'hidden' });
    this.reset.hidden = !this.group.range;
    this.tell();
  };
  Chart.prototype.nearest = function (series, x) {
    var low = 0, high = series.x.length - 1;
    while (low < high) {
      var middle = (low + high + 1) >> 1;
      if (series.x[middle] <= x) low = middle; else high = middle - 1;
    }
    if (this.data.step || low + 1 >= series.x.length) return low;
    return Math.abs(series.x[low + 1] - x) < Math.abs(series.x[low] - x) ? low + 1 : low;
  };
  Chart.prototype.tell = function () {
    var chart = this, x = this.cursor, data = this.data;
    this.read.textContent = '';
    if (x !== null) this.add(this.read, 'b', 'at', show(data.x, x, true));
    data.series.forEach(function (series, i) {
      var item = chart.add(chart.read, 'span', 'item', '');
      var at = x !== null ? chart.nearest(series, x) : 0;
      if (data.series.length > 1 || !data.small)
        chart.add(item, 'i', 'key', '').style.borderTopColor = colour(i);
      if (series.name && !data.small) chart.add(item, 'span', '', series.name + ' ');
      if (x !== null) chart.add(item, 'b', '', show(data.y, series.y[at], true));
      if (x !== null && series.low && series.low[at] !== null && series.low[at] < series.high[at])
        chart.add(item, 'span', '', ' (' + show(data.y, series.low[at], true) + ' to ' + show(data.y, series.high[at], true) + ')');
      if (x === null && data.series.length === 1 && (data.small || !series.name)) item.textContent = '\u00a0';
    });
    if (!data.small) this.tellLimits();
    this.hair.setAttribute('visibility', x === null ? 'hidden' : 'visible');
    ['x1', 'x2'].forEach(function (key) { chart.hair.setAttribute(key, x === null ? 0 : chart.x(x)); });
  };
  // Names of the limits and events; times of the events near the cursor.
  Chart.prototype.tellLimits = function () {
    var chart = this, x = this.cursor;
    this.data.lines.forEach(function (line) {
      if (!line.name) return;
      var item = chart.add(chart.read, 'span', 'item', '');
      chart.add(item, 'i', 'key limit-key', '');
      chart.add(item, 'span', '', line.name);
    });
    this.events.forEach(function (events) {
      var item = chart.add(chart.read, 'span', 'item', '');
      chart.add(item, 'i', 'tick', '').style.borderLeftColor = 'var(--e' + (events.colour + 1) + ')';
      chart.add(item, 'span', '', events.name + ' ');
      if (x === null) return;
      var near = events.x.filter(function (t) { return Math.abs(chart.x(t) - chart.x(x)) < NEAR_PX; });
      if (near.length > 0)
        chart.add(item, 'b', '', show(chart.data.x, near[0]) + (near.length > 1 ? ' and ' + (near.length - 1) + ' more' : ''));
    });
  };
  Chart.prototype.zoom = function (range) {
    var all = this.group.all, axis = this.data.x;
    if (range) range = [Math.max(all[0], range[0]), Math.min(all[1], range[1])];
    if (range && !(shareOf(axis, all, range[1]) - shareOf(axis, all, range[0]) > 1e-9)) return;
    this.group.range = range && (range[0] > all[0] || range[1] < all[1]) ? range : null;
    this.group.charts.forEach(function (chart) { chart.draw(); });
  };

  // Scales the range about the cursor, or moves it by a share of its width.
  Chart.prototype.scale = function (factor, shift) {
    var axis = this.data.x, low = forward(axis, this.range.x[0]), high = forward(axis, this.range.x[1]);
    var centre = this.cursor === null ? (low + high) / 2 : forward(axis, this.cursor), move = shift * (high - low);
    this.zoom([back(axis, centre + (low - centre) * factor + move), back(axis, centre + (high - centre) * factor + move)]);
  };
  Chart.prototype.pixel = function (event) {
    var rect = this.svg.getBoundingClientRect();
    return (event.clientX - rect.left) * this.box.width / rect.width;
  };
  Chart.prototype.listen = function () {
    var chart = this, start = null, svg = this.svg;
    svg.addEventListener('pointerdown', function (event) {
      if (event.button === 0) { start = chart.pixel(event); svg.setPointerCapture(event.pointerId); }
    });
    svg.addEventListener('pointermove', function (event) {
      var at = chart.pixel(event);
      chart.cursor = chart.valueAt(at);
      chart.tell();
      if (start === null) return;
      chart.sweep.setAttribute('x', Math.max(chart.box.left, Math.min(start, at)));
      chart.sweep.setAttribute('width', Math.abs(at - start));
      chart.sweep.setAttribute('visibility', Math.abs(at - start) > 6 ? 'visible' : 'hidden');
    });
    svg.addEventListener('pointerup', function (event) {
      var from = start, to = chart.pixel(event);
      start = null;
      chart.sweep.setAttribute('visibility', 'hidden');
      if (from !== null && Math.abs(to - from) > 6)
        chart.zoom([chart.valueAt(Math.min(from, to)), chart.valueAt(Math.max(from, to))]);
    });
    svg.addEventListener('pointercancel', function () { start = null; chart.sweep.setAttribute('visibility', 'hidden'); });
    svg.addEventListener('pointerleave', function () { if (start === null) { chart.cursor = null; chart.tell(); } });
    svg.addEventListener('dblclick', function () { chart.zoom(null); });
    svg.addEventListener('keydown', function (event) { chart.key(event); });
    this.reset.addEventListener('click', function () { chart.zoom(null); svg.focus(); });
  };
  Chart.prototype.key = function (event) {
    var sign = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0, box = this.box;
    if (sign !== 0 && event.shiftKey) this.scale(1, 0.2 * sign);
    else if (sign !== 0) {
      var at = this.cursor === null ? (box.left + box.right) / 2 : this.x(this.cursor);
      this.cursor = this.valueAt(at + sign * (box.right - box.left) / 100);
      this.tell();
    } else if (event.key === '+' || event.key === '=') this.scale(0.5, 0);
    else if (event.key === '-') this.scale(2, 0);
    else if (event.key === 'Escape' || event.key === '0') this.zoom(null);
    else return;
    event.preventDefault();
  };

  var charts = [];
  document.querySelectorAll('[data-zoom]').forEach(function (figure) {
    charts.push(new Chart(figure, JSON.parse(figure.querySelector('script').textContent)));
  });
  // A chart in a closed section has no width: it is drawn when it is shown.
  function drawAll() {
    charts.forEach(function (chart) { if (chart.live.clientWidth > 0) chart.draw(); });
  }
  document.querySelectorAll('details').forEach(function (details) {
    if (details.classList.contains('fold') && window.innerWidth >= WIDE_PX) details.open = true;
    details.addEventListener('toggle', drawAll);
  });
  window.addEventListener('resize', drawAll);
  drawAll();

  // --- Tables: a click on the head of a column sorts by it ---

  function keyOf(row, column) {
    var cell = row.cells[column], exact = cell && cell.classList.contains('n') ? cell.title : ''; // of a name: words
    var number = cell ? parseFloat(exact || cell.textContent.replace(/,/g, '')) : NaN;
    return { number: number, text: cell ? cell.textContent : '' };
  }
  function compare(a, b) {
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1; // words and gaps come last
    return isNaN(a.number) ? a.text.localeCompare(b.text) : a.number - b.number;
  }
  function sort(table, column, head) {
    var body = table.tBodies[0], down = head.getAttribute('aria-sort') === 'ascending';
    var rows = Array.prototype.map.call(body.rows, function (row, i) { return { row: row, key: keyOf(row, column), i: i }; });
    rows.sort(function (a, b) {
      var order = compare(a.key, b.key);
      if (isNaN(a.key.number) !== isNaN(b.key.number)) return order;
      return (down ? -order : order) || a.i - b.i;
    });
    table.querySelectorAll('th[aria-sort]').forEach(function (other) { other.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.forEach(function (entry) { body.appendChild(entry.row); });
  }
  document.querySelectorAll('table.sort').forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () { sort(table, column, head); });
    });
  });
})();
