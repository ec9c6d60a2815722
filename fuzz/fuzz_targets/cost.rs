//! Looks for what costs the most, not for what breaks: an input is kept if it takes more time or more memory than any
//! before it, for what is read.
//!
//! The ten worst are written to `fuzz/found/worst`: inputs that can be copied to `fuzz/corpus/cost`, and a list of them,
//! `list.txt`. Of each kind (what is asked, and which settings there are) only the worst one counts, or all ten would be
//! variants of one. That which takes the most memory is written there, too.
//!
//! It runs the policy's crate natively. What stands in for the module's instructions is time, and for its
//! linear memory the bytes that are allocated at once. Both only rank the inputs: `e2e-tests/tests/worst.rs` runs those
//! that were copied to `fuzz/corpus/cost` in the module, and counts.
#![no_main]

#[path = "../src/cost.rs"]
mod cost;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cmp::Reverse,
    fs, io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use arbitrary::Unstructured;
use cost::Asked;
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde_json::{Value, json};

/// Counts what is allocated at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(place, layout) }
    }
}

/// libFuzzer keeps an input that sets one of these which none has set before.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static LEVELS: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// The worst so far.
static WORST: Mutex<Worst> = Mutex::new(Worst { finds: Vec::new(), most_memory: 0 });

/// How many finds are kept.
const FINDS: usize = 10;

struct Worst {
    /// The slowest first.
    finds: Vec<Find>,
    /// The most bytes that one allocated.
    most_memory: usize,
}

/// The slowest input of its kind.
struct Find {
    time: Duration,
    kind: String,
    figures: String,
    input: Vec<u8>,
}

struct Found<'a> {
    asked: &'a Asked,
    read: AtomicUsize,
}

impl Cluster for Found<'_> {
    fn get_resource(&self, request: &GetResourceRequest) -> anyhow::Result<String> {
        let object = match &*request.kind {
            "Namespace" => &self.asked.namespace,
            "Node" => &self.asked.node,
            _ => &self.asked.runtime_class,
        };
        let object = object.to_string();
        self.read.fetch_add(object.len(), Relaxed);
        Ok(object)
    }

    fn log(&self, _level: LogLevel, _message: &str) {}
}

/// The time that an evaluation takes, the bytes that it allocates at once, and those that it reads.
fn measure(payload: &[u8], asked: &Asked) -> (Duration, usize, usize) {
    let found = Found { asked, read: AtomicUsize::new(payload.len()) };
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let start = Instant::now();
    let answer = node_placement_policy::validate(payload, &found);
    let time = start.elapsed();
    drop(answer);
    (time, PEAK.load(Relaxed).saturating_sub(before), found.read.load(Relaxed))
}

/// One of `width` levels, each a quarter above the one below.
fn level(cost: u128, read: usize, width: usize) -> usize {
    let per_byte = (cost as f64 / read.max(20_000) as f64).max(1e-3);
    ((per_byte.ln() / 1.25_f64.ln()) as i64 + 32).clamp(0, width as i64 - 1) as usize
}

/// What is asked, and with which settings.
fn kind(asked: &Asked) -> String {
    let fields = |block: &Value| block.as_object().into_iter().flat_map(|block| block.keys().cloned()).collect();
    let entry = asked.settings["placement"]["namespaces"].as_array().and_then(|entries| entries.last());
    let mut settings: Vec<String> = entry.map(fields).unwrap_or_else(|| fields(&asked.settings));
    settings.extend(asked.settings["nodeMetadata"].is_object().then(|| "nodeMetadata".to_owned()));
    let request = &asked.request;
    format!(
        "{} {} {}: {}",
        request["operation"],
        request["resource"]["resource"],
        request["subResource"],
        settings.join(", ")
    )
}

impl Worst {
    /// How long an input must take to be among the worst of all kinds, or the worst of this one.
    fn least(&self, kind: &str) -> Duration {
        match self.finds.iter().find(|find| find.kind == kind) {
            Some(find) => find.time,
            None => self.finds.get(FINDS - 1).map_or(Duration::ZERO, |last| last.time),
        }
    }

    fn add(&mut self, find: Find) -> io::Result<()> {
        self.finds.retain(|other| other.kind != find.kind);
        self.finds.push(find);
        self.finds.sort_by_key(|find| Reverse(find.time));
        self.finds.truncate(FINDS);
        fs::create_dir_all(FOLDER)?;
        let mut list = String::new();
        for (position, Find { time, kind, figures, input }) in self.finds.iter().enumerate() {
            fs::write(format!("{FOLDER}/worst-{:02}", position + 1), input)?;
            list += &format!("worst-{:02}: {time:?}, {figures}: {kind}\n", position + 1);
        }
        fs::write(format!("{FOLDER}/list.txt"), list)
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/found/worst");

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(asked) = cost::asked(&mut Unstructured::new(input)) else { return };
    let settings = asked.settings.to_string();
    if node_placement_policy::validate_settings(settings.as_bytes()).is_some() {
        return;
    }
    let payload = json!({"request": asked.request, "settings": asked.settings}).to_string();
    let (mut time, memory, read) = measure(payload.as_bytes(), &asked);
    let mut worst = WORST.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = kind(&asked);
    let least = worst.least(&kind);
    if time > least {
        // Somebody else's work may have been in the way.
        time = (0..2).map(|_| measure(payload.as_bytes(), &asked).0).fold(time, Duration::min);
    }
    LEVELS[level(time.as_nanos(), read, 128)].store(1, Relaxed);
    LEVELS[128 + level(memory as u128, read, 128)].store(1, Relaxed);
    let figures = format!("{} KiB allocated, {} KiB read", memory / 1024, read / 1024);
    if memory > worst.most_memory {
        worst.most_memory = memory;
        eprintln!("most memory: {figures}, {time:?}: {kind}");
        fs::create_dir_all(FOLDER).expect("a folder to write to");
        fs::write(format!("{FOLDER}/most-memory"), input).expect("a file to write to");
    }
    if time > least {
        eprintln!("{time:?}, {figures}: {kind}");
        worst.add(Find { time, kind, figures, input: input.to_owned() }).expect("a folder to write to");
    }
});
