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

# Without -o the page is the output; the same file gives the same bytes.
run 0 report "$T/r.db:1"
cmp -s "$T/out" "$T/mixed.html" || complain 'another page on standard output'

# One chart alone is an SVG document, that of the page; the titles are told where there is none.
run 0 report "$T/r.db:1" --chart 'Job completion time' -o "$T/jct.svg"
awk '/<svg / { svg = $0 "\n"; next } svg != "" { svg = svg $0 "\n" } /<\/svg>/ && svg ~ /<title>Job completion time</ { printf "%s", svg; exit }
    /<\/svg>/ { svg = "" }' "$T/mixed.html" >"$T/expected.svg"
[ -s "$T/expected.svg" ] || complain 'the page has no such chart'
cmp -s "$T/jct.svg" "$T/expected.svg" || complain 'the chart is not that of the page'
run 2 report "$T/r.db:1" --chart 'Job completion' -o "$T/none.svg"
err "the page has no chart 'Job completion'; its charts: '"
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
view mixed 1400 --screenshot="$T/mixed.png"
[ "$(wc -c <"$T/mixed.png")" -gt 50000 ] || complain 'there is nothing on the picture'
view mixed 1400 --print-to-pdf="$T/mixed.pdf"
[ "$(head -c 5 "$T/mixed.pdf")" = '%PDF-' ] || complain 'it does not print'
finish
