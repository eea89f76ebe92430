#!/bin/sh
# orrery report: pages from real runs, and how a browser without a network takes them.
. tests/cli/lib.sh

mixed
run 0 run "$T/mixed.json" -o "$T/r.db" --name 'a <b>site</b> & "more"'
run 0 report "$T/r.db" -o "$T/mixed.html"
grep -qE 'mixed\.html: [0-9]+ KiB$' "$T/err" || complain 'where the page went'
[ ! -s "$T/out" ] || complain 'something on standard output'
for text in '<h1>a &lt;b&gt;site&lt;/b&gt; &amp; &quot;more&quot;</h1>' 'Time to first token' 'Job completion time' 'Jobs on GPUs' \
    'Requests waiting, per replica' 'id="provenance"'; do
    holds "$T/mixed.html" "$text"
done

# Without -o the page goes to report.html; with "-o -" it is the output. The same file gives the same bytes.
run 0 report "$T/r.db:1" -o -
cmp -s "$T/out" "$T/mixed.html" || complain 'another page on standard output'
(program=$(realpath "$ORRERY") && cd "$T" && "$program" report r.db:1 >out 2>err) || complain 'no page without -o'
grep -qE '^report\.html: [0-9]+ KiB$' "$T/err" || complain 'where the page without -o went'
cmp -s "$T/report.html" "$T/mixed.html" || complain 'another page without -o'

# One chart alone is an SVG document, that of the page; the titles are told where there is none.
run 0 report "$T/r.db:1" --chart 'Job completion time' -o "$T/jct.svg"
awk '/<svg / { svg = $0 "\n"; next } svg != "" { svg = svg $0 "\n" } /<\/svg>/ && svg ~ /<title>Job completion time</ { printf "%s", svg; exit }
    /<\/svg>/ { svg = "" }' "$T/mixed.html" >"$T/expected.svg"
[ -s "$T/expected.svg" ] || complain 'the page has no such chart'
cmp -s "$T/jct.svg" "$T/expected.svg" || complain 'the chart is not that of the page'
run 2 report "$T/r.db:1" --chart 'Job completion' -o "$T/none.svg"
err "the page has no chart 'Job completion'; take a title of the list above"
equal "$(sed -n 's/^  //p' "$T/err")" "$(awk '/<svg / { inside = 1 } inside && match($0, /<title>[^<]*/) { print substr($0, RSTART + 7, RLENGTH - 7); inside = 0 }' \
    "$T/mixed.html")" 'titles of charts'
no_file "$T/none.svg"

# Sums only, jobs only, and another run of the same file.
run 0 run "$T/mixed.json" --keep curves -o "$T/r.db" --name sums
run 0 report "$T/r.db" -o "$T/sums.html"
holds "$T/sums.html" '<h1>sums</h1>'
holds "$T/sums.html" 'Requests waiting, per replica'
holds "$T/sums.html" 'Time to first token'
run 0 run philly-cluster -o "$T/jobs.db"
run 0 report "$T/jobs.db" -o "$T/jobs.html"
holds "$T/jobs.html" 'Slowdown'

# Who arrives faster than he is served is told so.
serving 3000 400
run 0 run "$T/serve.json" -o "$T/late.db"
run 0 report "$T/late.db" -o "$T/late.html"
holds "$T/late.html" 'The service is saturated'
awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 600; i++) print i * 60 ",3600,1" }' >"$T/flood.csv"
echo '{"cluster": {"nodes": 1}, "until": "10h", "jobs": {"trace": {"format": "csv-jobs", "path": "flood.csv"}}}' >"$T/flood.json"
run 0 run "$T/flood.json" -o "$T/flood.db" -q
run 0 report "$T/flood.db" -o "$T/flood.html"
holds "$T/flood.html" 'saturated or was cut short: 86.5 % of its jobs'

# Jobs that bring 1.5 times what the GPUs can do are told so, whoever orders them: here and on the page.
awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i <= 600; i++) print i * 300, i % 7 ? 1800 : 10800, i % 3 ? 1 : 2 }' |
    sed 's/ /,/g' >"$T/heavy.csv"
gpu_s=$(awk -F, 'NR > 1 { sum += $2 * $3 } END { print sum }' "$T/heavy.csv")
load=$(awk "BEGIN { printf \"%.3g\", int(100 * $gpu_s / (601 * 300 * 8) + 0.5) / 100 }")
for scheduler in fifo fifo-skip srtf tiresias; do
    echo '{"cluster": {"nodes": 1}, "jobs": {"scheduler": "'$scheduler'", "trace": {"format": "csv-jobs", "path": "heavy.csv"}}}' \
        >"$T/heavy.json"
    run 0 run "$T/heavy.json" -o "$T/heavy.db" -q
    out "warning: saturated: jobs bring $load times the GPU time that they can have"
    run 0 report "$T/heavy.db" -o "$T/heavy.html"
    holds "$T/heavy.html" "Jobs brought $load times"
done
run 0 run "$T/heavy.json" --set cluster.nodes=4 -q
grep -q saturated "$T/out" && complain 'a cluster of four nodes is told to be saturated'

# A queue of known load tells it, whether it was seen to its end or cut short: requests take 100 ms of a server.
queue() { # LOAD PROCESS UNTIL: the page is $T/queue.html
    cat >"$T/queue.json" <<END
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"calm": {"llm": "opt-13b", "trace": {"format": "generate", "count": 300,
                                                    "arrival": {"process": "fixed", "rate": "1/s"}}},
               "one": {"llm": "opt-13b", "cost": {"kind": "affine", "prefill": {"fixed": "100ms"}},
                       "batching": {"policy": "vllm-v0", "max_sequences": 1},
                       "trace": {"format": "generate", "count": 3000,
                                 "arrival": {"process": "$2", "rate": "$(awk "BEGIN { print 10 * $1 }")/s"},
                                 "prompt": {"distribution": "fixed", "tokens": 512},
                                 "output": {"distribution": "fixed", "tokens": 1}}}},
  "until": "$3" }
END
    rm -f "$T/queue.db"
    run 0 run "$T/queue.json" -o "$T/queue.db" -q
    run 0 report "$T/queue.db" -o "$T/queue.html"
}
for load in 1.1 1.5 3; do
    for until in 1d 90s; do
        queue $load fixed $until
        holds "$T/queue.html" 'The service &#39;one&#39; is saturated'
        told=$(grep -o 'at [0-9.]* times the rate' "$T/queue.html" | cut -d' ' -f2)
        awk "BEGIN { exit !($told > 0.98 * $load && $told < 1.02 * $load) }" || complain "load $load until $until is told as $told"
    done
done
for until in 1d 90s; do
    queue 0.8 poisson $until
    grep -q 'saturated' "$T/queue.html" && complain "a load of 0.8 until $until is told to be too much"
done

# No page leads anywhere; none is large.
for page in mixed sums jobs late; do
    grep -oE '[a-z]+://[^"<> ]*' "$T/$page.html" | grep -v '^http://www.w3.org/2000/svg$' && complain "an address in $page.html"
    [ "$(wc -c <"$T/$page.html")" -lt 1000000 ] || complain "$page.html is large"
done

# Wrong usage leaves the page that was there.
cp "$T/mixed.html" "$T/kept.html"
run 3 report "$T/r.db:9" -o "$T/kept.html"
err "no run 9"
run 2 report "$T/r.db" --metric request.ttft -o "$T/kept.html"
err_is <<'END'
error: unknown metric 'request.ttft'; 'orrery list metrics' shows all
END
run 3 report "$T/nowhere.db"
run 3 report "$T/r.db" -o "$T/nowhere/x.html"
cmp -s "$T/kept.html" "$T/mixed.html" || complain 'the page that was there is gone'
[ $failures = 0 ] || finish

# A browser shows them without a word on its console, with and without the script, wide and narrow, and prints them.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip 'no Chromium: pages were not looked at in a browser'
view() { # NAME WIDTH [OPTION]...: what the document is then
    shown=$1 wide=$2
    shift 2
    last="$browser $shown.html, $wide pixels wide"
    HOME="$T/home" "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$T/profile" \
        --enable-logging=stderr --v=0 --window-size="$wide",2000 "$@" "file://$T/$shown.html" >"$T/dom" 2>"$T/browser"
    grep -i 'CONSOLE' "$T/browser" && complain 'words on the console'
    return 0
}
mkdir -p "$T/home"
cat >"$T/probe.js" <<'END'
var out = [];
out.push(['live', document.querySelectorAll('figure.has-live .live svg path').length > 0]);
out.push(['fits', document.documentElement.scrollWidth <= window.innerWidth]);
out.push(['charts', document.querySelectorAll('.has-live').length === document.querySelectorAll('[data-zoom]').length]);
var svg = document.querySelector('.live svg'), button = document.querySelector('.live button');
if (svg) {
  var labels = function () { return Array.prototype.map.call(svg.querySelectorAll('text'), function (t) { return t.textContent; }).join(); };
  var before = labels();
  svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  out.push(['reads', document.querySelector('.live .read b') !== null]);
  svg.dispatchEvent(new KeyboardEvent('keydown', { key: '+' }));
  out.push(['zooms', labels() !== before && !button.hidden]);
  svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
  out.push(['returns', labels() === before && button.hidden]);
}
var p = document.createElement('p');
p.textContent = 'probe:' + out.map(function (o) { return o.join('='); }).join(' ');
document.body.appendChild(p);
END
for page in mixed jobs; do
    { sed '$d' "$T/$page.html" | sed '$d'; echo '<script>'; cat "$T/probe.js"; echo '</script></body></html>'; } >"$T/probe-$page.html"
    for width in 1400 500; do
        view "probe-$page" $width --dump-dom
        holds "$T/dom" 'probe:live=true fits=true charts=true reads=true zooms=true returns=true'
    done
done
view sums 1400 --dump-dom

# At 1280 and 390 pixels, light and dark: nothing scrolls sideways, no two labels of a chart overlap or are pale, a
# phone shows at most 8,000 pixels before unfolding, and a click on a head sorts a table.
run 0 run quickstart -q -o "$T/quick.db"
run 0 report "$T/quick.db" -o "$T/quick.html"
echo '{"name": "s", "question": "Which batcher?", "scenario": "serve.json", "seeds": 2, "show": ["request.ttft_s.p99"],
       "axes": [{"key": "services.chat.batching", "values": ["vllm-v0", "sarathi"]},
                {"key": "services.chat.replicas", "values": [1, 2]}]}' >"$T/study.json"
serving 20 200
run 0 sweep "$T/study.json" -q -o "$T/study.db"
run 0 report "$T/study.db" -o "$T/study.html"
run 0 size llama-3.1-8b --rate 4/s --requests 60 --gpu h100-sxm --gpu a100-80-sxm --max-gpus 4 --disaggregated \
    --slo ttft.p90=1s --slo tpot.p90=50ms -q --page "$T/size.html"
cat >"$T/look.js" <<'END'
var found = [], phone = window.innerWidth < 500, root = document.documentElement;
function complain(what) { if (found.length < 5) found.push(what); }
function channels(colour) { return colour.match(/[0-9.]+/g).slice(0, 3).map(function (c) { return Math.pow(c / 255, 2.2); }); }
function luminance(colour) { var c = channels(colour); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }
var paper = luminance(getComputedStyle(document.body).backgroundColor);
function contrast(colour) {
  var l = luminance(colour);
  return (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05);
}
function sideways(when) { if (root.scrollWidth > window.innerWidth) complain('scrolls sideways ' + when + ' by ' + (root.scrollWidth - window.innerWidth)); }
function check(svg) {
  var boxes = [];
  svg.querySelectorAll('text').forEach(function (text) {
    var box = text.getBoundingClientRect();
    if (box.width === 0 || text.closest('[transform*="rotate(-35)"]')) return; // boxes of slanted names are larger than they
    if (!text.hasAttribute('pointer-events') && !svg.closest('.heat') && contrast(getComputedStyle(text).fill) < 4)
      complain('pale: ' + text.textContent);
    boxes.forEach(function (other) {
      if (Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 1 &&
          Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 2)
        complain('overlap: ' + text.textContent + ' and ' + other.text);
    });
    boxes.push({ box: box, text: text.textContent });
  });
}
sideways('folded');
if (phone && root.scrollHeight > 8000) complain(root.scrollHeight + ' pixels high');
document.querySelectorAll('details').forEach(function (details) { details.open = true; });
window.addEventListener('load', function () {
  setTimeout(function () {
    sideways('unfolded');
    var n = 0;
    document.querySelectorAll('.live svg').forEach(function (svg) { check(svg); n++; });
    document.querySelectorAll('.has-live').forEach(function (figure) { figure.classList.remove('has-live'); });
    document.querySelectorAll('.still svg').forEach(function (svg) { check(svg); n++; });
    document.querySelectorAll('table.sort').forEach(function (table) {
      var head = table.tHead.rows[0].cells[0], words = function () {
        return Array.prototype.map.call(table.tBodies[0].rows, function (row) { return row.cells[0].textContent; });
      };
      head.querySelector('button').click();
      var up = words();
      head.querySelector('button').click();
      if (up.length > 1 && up[0] !== words()[up.length - 1]) complain('a table does not sort: ' + up[0]);
    });
    parent.postMessage(window.innerWidth + ' ' + (paper > 0.5 ? 'light' : 'dark') + ' ' + (n > 0 ? 'charts' : 'no charts') +
      ': ' + (found.join('; ') || 'fine'), '*');
  }, 200);
});
END
looked='mixed jobs quick study size'
for page in $looked; do
    { sed '$d' "$T/$page.html" | sed '$d'; echo '<script>'; cat "$T/look.js"; echo '</script></body></html>'; } >"$T/look-$page.html"
done
{
    echo '<!DOCTYPE html><html><body><script>'
    echo 'window.onmessage = function (e) { var p = document.createElement("p"); p.textContent = e.data; document.body.appendChild(p); };'
    echo '</script>'
    for page in $looked; do
        for width in 1280 390; do
            echo "<iframe src='look-$page.html' style='width:${width}px;height:2000px;border:0'></iframe>"
        done
    done
    echo '</body></html>'
} >"$T/looks.html"
for theme in light dark; do
    case $theme in dark) scheme=0 ;; *) scheme=1 ;; esac
    view looks 1400 --dump-dom --blink-settings=preferredColorScheme=$scheme --virtual-time-budget=20000
    for width in 1280 390; do
        [ "$(grep -o "<p>$width $theme charts: fine" "$T/dom" | wc -l)" = 5 ] ||
            complain "$theme, $width pixels: $(grep -o '<p>[^<]*</p>' "$T/dom" | grep "$width" | tr '\n' ' ')"
    done
done
view mixed 1400 --screenshot="$T/mixed.png"
[ "$(wc -c <"$T/mixed.png")" -gt 50000 ] || complain 'there is nothing on the picture'
view mixed 1400 --print-to-pdf="$T/mixed.pdf"
[ "$(head -c 5 "$T/mixed.pdf")" = '%PDF-' ] || complain 'it does not print'
finish
