//! Looks for what costs the most, not for what breaks: an input is kept if it takes more time or more memory than any
//! before it, for what is read. The worst are printed, and written to `fuzz/found/worst`.
//!
//! It runs the policy's crate natively. What stands in for the module's instructions is time, and for its
//! linear memory the bytes that are allocated at once. Both only rank the inputs: `e2e-tests/tests/worst.rs` runs those
//! that were copied to `fuzz/corpus/cost` in the module, and counts.
#![no_main]

#[path = "../src/cost.rs"]
mod cost;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use arbitrary::Unstructured;
use cost::Asked;
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde_json::json;

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

/// What was the worst so far: nanoseconds and bytes.
static WORST: Mutex<(u128, usize)> = Mutex::new((0, 0));

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

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(asked) = cost::asked(&mut Unstructured::new(input)) else { return };
    let settings = asked.settings.to_string();
    if node_placement_policy::validate_settings(settings.as_bytes()).is_some() {
        return;
    }
    let payload = json!({"request": asked.request, "settings": asked.settings}).to_string();
    let (mut time, memory, read) = measure(payload.as_bytes(), &asked);
    let mut worst = WORST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if time.as_nanos() > worst.0 {
        // Somebody else's work may have been in the way.
        time = (0..2).map(|_| measure(payload.as_bytes(), &asked).0).fold(time, Duration::min);
    }
    LEVELS[level(time.as_nanos(), read, 128)].store(1, Relaxed);
    LEVELS[128 + level(memory as u128, read, 128)].store(1, Relaxed);
    let resource = &asked.request["resource"]["resource"];
    let what = format!("{} {resource}, {} KiB read", asked.request["operation"], read / 1024);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/found/worst");
    let keep = |name: String| fs::create_dir_all(folder).and_then(|()| fs::write(format!("{folder}/{name}"), input));
    if time.as_nanos() > worst.0 {
        worst.0 = time.as_nanos();
        eprintln!("most time: {time:?}, {} KiB allocated: {what}", memory / 1024);
        keep(format!("{:05}-ms", time.as_millis())).expect("a folder to write to");
    }
    if memory > worst.1 {
        worst.1 = memory;
        eprintln!("most memory: {} KiB allocated, {time:?}: {what}", memory / 1024);
        keep(format!("{:07}-kib", memory / 1024)).expect("a folder to write to");
    }
});
